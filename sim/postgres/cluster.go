// Package postgres runs scenarios on a real PostgreSQL server: throw-away clusters, the server as a sim.Backend, and the
// model and the server as a pair in lock-step.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A cluster is a throw-away server: its data, log and Unix socket are in one temporary folder.
//
// Nothing of it outlives simrun. Stop removes it; when simrun is killed, a watchdog process, which notices that its standard
// input has ended, stops the server and removes the folder; and when the watchdog was killed too, the next start does it,
// because the lock on the folder's owner file is free (see stale.go).
type cluster struct {
	dir      string // temporary folder: owner (locked while we live), data/, log, .s.PGSQL.5432
	bin      string // folder of postgres and initdb
	owner    *os.File
	server   *exec.Cmd
	exited   chan struct{} // closed when the server has exited
	watchdog *exec.Cmd
	leash    io.Closer // the watchdog's standard input
}

const (
	clusterPrefix = "simrun-pg-"  // of folders that have an owner
	newbornPrefix = "simrun-new-" // of folders whose owner file is not there yet
	startLimit    = 60 * time.Second
)

// config is for speed and for throwing away. Settings that make plans and waits repeatable belong to sessions, not to the
// cluster, so that isolationtester's files run as they do elsewhere. wal_level is the default because a lower one changes
// behaviour: LOCK TABLE in ACCESS EXCLUSIVE MODE then takes no transaction id. autovacuum would make dead tuples disappear at times of its own.
const config = `
listen_addresses = ''
unix_socket_directories = '%s'
unix_socket_permissions = 0700
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = replica
max_wal_senders = 0
shared_buffers = 64MB
max_connections = 100
max_prepared_transactions = 10
autovacuum = off
bgwriter_lru_maxpages = 0
log_min_messages = panic
log_min_error_statement = panic
lc_messages = 'C'
timezone = 'UTC'
`

// startCluster makes and starts a cluster with the binaries in bin.
func startCluster(ctx context.Context, bin string) (c *cluster, err error) {
	removeStale()
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	c = &cluster{bin: bin, exited: make(chan struct{})}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if c.dir, c.owner, err = newFolder(cred); err != nil {
		return nil, err
	}
	if err = c.startWatchdog(); err != nil {
		return nil, err
	}
	data := filepath.Join(c.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir = c.dir
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setpgid: true}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, bytes.TrimSpace(out))
	}
	conf, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conf, config, c.dir)
	if err = errors.Join(err, conf.Close()); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.server = exec.Command(filepath.Join(bin, "postgres"), "-D", data)
	c.server.Dir = c.dir
	c.server.Stdout, c.server.Stderr = log, log
	// A session of its own, so that a terminal's Ctrl-C reaches simrun only, which then stops the server in order.
	c.server.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setsid: true}
	if err = c.server.Start(); err != nil {
		c.server = nil
		return nil, err
	}
	go func() {
		_ = c.server.Wait()
		close(c.exited)
	}()
	return c, c.awaitReady(ctx, data)
}

// awaitReady waits until postmaster.pid says "ready" (its eighth line, which pg_ctl reads too).
func (c *cluster) awaitReady(ctx context.Context, data string) error {
	deadline := time.Now().Add(startLimit)
	for {
		text, _ := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		if lines := strings.Split(string(text), "\n"); len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
		select {
		case <-c.exited:
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("the server did not start:\n%s", bytes.TrimSpace(log))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server was not ready after %v", startLimit)
		}
	}
}

// newFolder makes the cluster's folder, owned by the server's user, and its owner file, locked by this process.
func newFolder(cred *syscall.Credential) (dir string, owner *os.File, err error) {
	base := os.TempDir()
	if len(base) > 60 { // a Unix socket's path has at most 107 characters (103 on BSD)
		base = "/tmp"
	}
	newborn, err := os.MkdirTemp(base, newbornPrefix)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(newborn)
		}
	}()
	if cred != nil {
		if err := os.Chown(newborn, int(cred.Uid), int(cred.Gid)); err != nil {
			return "", nil, err
		}
	}
	if owner, err = os.Create(filepath.Join(newborn, "owner")); err != nil {
		return "", nil, err
	}
	if err := unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return "", nil, err
	}
	fmt.Fprintln(owner, os.Getpid())
	dir = filepath.Join(base, clusterPrefix+strings.TrimPrefix(filepath.Base(newborn), newbornPrefix))
	return dir, owner, os.Rename(newborn, dir)
}

// unprivileged returns the credential that the server runs with: nil for our own, or, as root, which the server refuses, that
// of the user postgres or nobody.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("simrun runs as root, which PostgreSQL refuses, and there is neither a user postgres nor a user nobody to run it as")
}

// stop stops the server, at once, and removes the folder. It may be called at any stage of the start, and twice.
func (c *cluster) stop() {
	if c.server != nil {
		quit(c.server.Process.Pid, func() bool {
			select {
			case <-c.exited:
				return true
			default:
				return false
			}
		})
		c.server = nil
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
	if c.leash != nil {
		_ = c.leash.Close()
		_ = c.watchdog.Wait()
		c.leash = nil
	}
	if c.owner != nil {
		_ = c.owner.Close()
		c.owner = nil
	}
}

// watch is the watchdog's program: when its input ends, and the folder is still there, it lets the stopped backends go on (a
// stopped process does not act on SIGQUIT), stops the server and removes the folder.
const watch = `
read -r line
[ -d "$1" ] || exit 0
if [ -f "$1/data/postmaster.pid" ]; then
	read -r pid < "$1/data/postmaster.pid"
	kill -QUIT "$pid" 2>/dev/null
	for stat in /proc/[0-9]*/stat; do
		{ read -r child name state parent rest < "$stat"; } 2>/dev/null || continue
		[ "$parent" = "$pid" ] && kill -CONT "$child" 2>/dev/null
	done
	n=0
	while [ -f "$1/data/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
	kill -KILL "$pid" 2>/dev/null
fi
rm -rf "$1"
`

func (c *cluster) startWatchdog() error {
	c.watchdog = exec.Command("/bin/sh", "-c", watch, "simrun-watchdog", c.dir)
	c.watchdog.Dir = "/"
	c.watchdog.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	leash, err := c.watchdog.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.watchdog.Start(); err != nil {
		return err
	}
	c.leash = leash
	return nil
}
