package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"simrun/sim/postgres/wire"
)

// Server is a PostgreSQL server to run on: a throw-away cluster that Start made, or one that the user named to Connect.
type Server struct {
	cluster *cluster        // nil for a server that the user named
	ctx     context.Context // ends what waits for the server in runs; clean-up goes on
	config  *pgconn.Config
	version int    // as server_version_num
	tag     string // random, in the names of our databases

	held atomic.Int32 // backends that are stopped

	mu        sync.Mutex
	keeper    *wire.Conn      // the connection that stands for this process, to the server's own database
	databases map[string]bool // that we made and have not dropped
	unwanted  []string        // to be dropped when no backend is held
	serial    int
	parked    []*Backend // shut down, the oldest first; their databases serve again
	closed    bool
}

// Options say how to start a throw-away cluster.
type Options struct {
	// Bin is the folder of postgres and initdb; "" looks for it (see FindBinaries) and downloads one when there is none.
	Bin string
}

// Open is Start for "auto" and "", and Connect for everything else. When ctx is done, now or later, whatever waits for the server
// in a run fails.
func Open(ctx context.Context, where string) (*Server, error) {
	if where == "" || where == "auto" {
		return Start(ctx, Options{})
	}
	return Connect(ctx, where)
}

// Start makes a throw-away cluster and starts it. Close removes it; nothing is left behind when the process dies either.
func Start(ctx context.Context, opts Options) (*Server, error) {
	bin, err := opts.Bin, error(nil)
	if bin == "" {
		if bin, err = FindBinaries(); errors.Is(err, ErrNoBinaries) {
			bin, err = fetchBinaries()
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := startCluster(ctx, bin)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, "host="+c.dir+" user=postgres dbname=postgres sslmode=disable")
	if err != nil {
		c.stop()
		return nil, err
	}
	s.cluster = c
	return s, nil
}

// Connect uses a running server, by its URL or connection string. simrun works in databases of its own there, and drops them.
// Databases that a killed simrun left behind are dropped first.
func Connect(ctx context.Context, url string) (*Server, error) {
	s, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := s.dropStale(); err != nil {
		s.keeper.Close()
		return nil, err
	}
	return s, nil
}

func connect(ctx context.Context, url string) (*Server, error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	tag := make([]byte, 8)
	_, _ = rand.Read(tag)
	s := &Server{ctx: ctx, config: config, tag: hex.EncodeToString(tag), databases: map[string]bool{}}
	if s.keeper, err = wire.Dial(ctx, s.connConfig("", map[string]string{"application_name": "simrun " + s.tag})); err != nil {
		return nil, err
	}
	s.keeper.Outlive()
	rows, err := s.keeper.Rows("SELECT current_setting('server_version_num')::int, current_setting('is_superuser')")
	if err == nil {
		s.version, err = strconv.Atoi(rows[0][0])
	}
	switch {
	case err != nil:
	case s.version < 150000:
		err = fmt.Errorf("the server's version is %d; simrun needs PostgreSQL 15 or later", s.version/10000)
	case rows[0][1] != "on":
		err = fmt.Errorf("user %s is no superuser; simrun needs one, to make databases and to set deadlock_timeout", config.User)
	}
	if err != nil {
		s.keeper.Close()
		return nil, err
	}
	return s, nil
}

// Version is the server's version as server_version_num gives it, e.g. 150018.
func (s *Server) Version() int { return s.version }

// Gated says whether simrun may stop and continue backends, so that runs are repeatable where the server itself leaves the
// order of freed sessions open. It may on a server that it started.
func (s *Server) Gated() bool { return s.cluster != nil }

// URL is a connection string for database name, for tools and tests beside simrun.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s", s.config.Host, s.config.Port, s.config.User,
		quoteConninfo(s.config.Password), database)
}

func quoteConninfo(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

// Close drops the databases that are left and stops the server if Start started it. Backends must be shut down before.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	defer s.keeper.Close()
	for _, b := range s.parked {
		b.disconnect()
	}
	if s.cluster != nil {
		s.cluster.stop()
		return nil
	}
	var errs []error
	for name := range s.databases {
		errs = append(errs, s.keeper.Run(dropDatabase(name)))
	}
	return errors.Join(errs...)
}

// connConfig is a copy of the server's connection configuration for a database, with run-time parameters.
func (s *Server) connConfig(database string, params map[string]string) *pgconn.Config {
	c := s.config.Copy()
	if database != "" {
		c.Database = database
	}
	maps.Copy(c.RuntimeParams, params)
	return c
}

// databasePrefix is in front of the names of all databases that simrun makes: simrun_<tag>_<serial>. The tag is in the
// application name of the connection that the owner keeps open for as long as it lives.
const databasePrefix = "simrun_"

// CreateDatabase makes an empty database and returns its name.
func (s *Server) CreateDatabase() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	name := fmt.Sprintf("%s%s_%d", databasePrefix, s.tag, s.serial)
	if err := s.keeper.Run("CREATE DATABASE " + name + " TEMPLATE template0"); err != nil {
		return "", err
	}
	s.databases[name] = true
	return name, nil
}

// DropDatabase drops a database that CreateDatabase made, and ends its connections. DROP DATABASE waits until every backend of
// the server has taken note, which one that is held never does: while there are any, the database is dropped later.
func (s *Server) DropDatabase(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.databases[name] {
		return fmt.Errorf("database %s is not one that simrun made", name)
	}
	delete(s.databases, name)
	s.unwanted = append(s.unwanted, name)
	for len(s.unwanted) > 0 && s.held.Load() == 0 {
		if err := s.keeper.Run(dropDatabase(s.unwanted[0])); err != nil {
			return err
		}
		s.unwanted = s.unwanted[1:]
	}
	return nil
}

func dropDatabase(name string) string { return "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)" }

// admin runs statements of the server as a whole, such as on roles, outside of the databases that runs use.
func (s *Server) admin(sql string) ([][]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keeper.Rows(sql)
}

// dropStale drops the databases of simruns that are gone: those whose tag no connection carries.
func (s *Server) dropStale() error {
	rows, err := s.admin(`SELECT datname FROM pg_catalog.pg_database d WHERE datname ~ '^simrun_[0-9a-f]{16}_[0-9]+$' AND NOT EXISTS
		(SELECT FROM pg_catalog.pg_stat_activity WHERE application_name = 'simrun ' || split_part(d.datname, '_', 2)) ORDER BY 1`)
	for _, row := range rows {
		if _, derr := s.admin(dropDatabase(row[0])); derr != nil {
			err = errors.Join(err, derr)
		}
	}
	return err
}
