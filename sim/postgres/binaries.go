package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// BinEnv names the environment variable that says where postgres and initdb are.
const BinEnv = "SIMRUN_POSTGRES_BIN"

// installed are the folders in which distributions and installers put server binaries, as glob patterns; the number in a
// matched path is the server's major version.
var installed = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // PGDG on Red Hat
	"/usr/local/opt/postgresql@*/bin",    // Homebrew, Intel
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew, ARM
	"/usr/local/pgsql/bin",               // built from source
	"/Library/PostgreSQL/*/bin",          // EDB on macOS
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// ErrNoBinaries says that no server is installed here.
var ErrNoBinaries = errors.New("no PostgreSQL server is installed: postgres and initdb are neither in $" + BinEnv +
	", nor in PATH, nor where distributions put them")

// FindBinaries returns the folder that holds postgres and initdb. It looks in $SIMRUN_POSTGRES_BIN, which must have them when
// it is set, then in PATH, then in the folders of distributions, newest major version first.
func FindBinaries() (string, error) {
	if dir := os.Getenv(BinEnv); dir != "" {
		if !hasBinaries(dir) {
			return "", fmt.Errorf("$%s is %q, where postgres and initdb are not", BinEnv, dir)
		}
		return dir, nil
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil && hasBinaries(filepath.Dir(p)) {
			return filepath.Dir(p), nil
		}
	}
	var dirs []string
	for _, pattern := range installed {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return cmp.Compare(versionOf(b), versionOf(a)) })
	for _, dir := range dirs {
		if hasBinaries(dir) {
			return dir, nil
		}
	}
	return "", ErrNoBinaries
}

func hasBinaries(dir string) bool {
	for _, name := range []string{"postgres", "initdb"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.IsDir() {
			return false
		}
	}
	return true
}

var number = regexp.MustCompile(`\d+`)

func versionOf(dir string) int {
	n, _ := strconv.Atoi(number.FindString(dir))
	return n
}

// fetchBinaries downloads a server with embedded-postgres into the user's cache, once, and returns the folder of its binaries.
func fetchBinaries() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	home := filepath.Join(cache, "simrun", "postgres-"+string(embedded.V15))
	bin := filepath.Join(home, "bin")
	if hasBinaries(bin) {
		return bin, nil
	}
	scratch, err := os.MkdirTemp("", "simrun-fetch-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	port, err := freePort()
	if err != nil {
		return "", err
	}
	// The library has no call that only fetches: it goes on to initdb and start, which fail as root. What counts is whether
	// the binaries are there afterwards; the cluster that we use is made by Start.
	e := embedded.NewDatabase(embedded.DefaultConfig().Version(embedded.V15).Port(port).Logger(nil).
		CachePath(filepath.Join(cache, "simrun")).BinariesPath(home).
		RuntimePath(filepath.Join(scratch, "run")).DataPath(filepath.Join(scratch, "data")))
	err = e.Start()
	if err == nil {
		err = e.Stop()
	}
	if hasBinaries(bin) {
		return bin, nil
	}
	return "", fmt.Errorf("%w; fetching one failed: %w", ErrNoBinaries, err)
}

func freePort() (uint32, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return uint32(l.Addr().(*net.TCPAddr).Port), nil
}
