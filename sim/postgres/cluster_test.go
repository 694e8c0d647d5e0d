package postgres

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"simrun/sim/postgres/wire"
)

func TestStartLeavesNothingBehind(t *testing.T) {
	s := start(t)
	dir, pid := s.cluster.dir, s.cluster.server.Process.Pid
	db, err := s.CreateDatabase()
	if err != nil {
		t.Fatal(err)
	}
	w, err := wire.Dial(context.Background(), s.connConfig(db, nil))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := w.Rows("SELECT 1 + 1")
	if err != nil || rows[0][0] != "2" {
		t.Fatalf("rows %v, error %v", rows, err)
	}
	if err := unix.Kill(w.PID, unix.SIGSTOP); err != nil { // a held backend must not keep the server from stopping
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, dir, pid)
}

// TestKilled starts a cluster in a process of its own, kills that process, and sees the watchdog clean up; once more with
// the watchdog killed too, where the next start cleans up.
func TestKilled(t *testing.T) {
	for _, alsoWatchdog := range []bool{false, true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelperHoldsCluster$")
		cmd.Env = append(os.Environ(), "SIMRUN_TEST_HOLD=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(line)
		dir := fields[0]
		pid, _ := strconv.Atoi(fields[1])
		watchdog, _ := strconv.Atoi(fields[2])
		if alsoWatchdog {
			if err := unix.Kill(watchdog, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if alsoWatchdog {
			removeStale()
		}
		gone(t, dir, pid)
	}
}

// TestHelperHoldsCluster is the process that TestKilled kills: it holds a cluster with a stopped backend.
func TestHelperHoldsCluster(t *testing.T) {
	if os.Getenv("SIMRUN_TEST_HOLD") == "" {
		t.Skip("run by TestKilled only")
	}
	s := start(t)
	w, err := wire.Dial(context.Background(), s.connConfig("", nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(w.PID, unix.SIGSTOP)
	_, _ = os.Stdout.WriteString(s.cluster.dir + " " + strconv.Itoa(s.cluster.server.Process.Pid) + " " +
		strconv.Itoa(s.cluster.watchdog.Process.Pid) + "\n")
	select {}
}

// TestLiveClusterIsNotStale shows that cleaning leaves the clusters of the living alone.
func TestLiveClusterIsNotStale(t *testing.T) {
	s := start(t)
	removeStale()
	if err := s.keeper.Run("SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

func TestConnectDropsStaleDatabases(t *testing.T) {
	s := start(t)
	url := s.URL("postgres")
	if err := s.keeper.Run("CREATE DATABASE simrun_00000000000000ab_1"); err != nil {
		t.Fatal(err)
	}
	a, err := Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	mine, err := a.CreateDatabase()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	names := "SELECT datname FROM pg_database WHERE datname LIKE 'simrun%'"
	if rows, err := s.keeper.Rows(names); err != nil || len(rows) != 1 || rows[0][0] != mine {
		t.Fatalf("databases %v, error %v; want only %s", rows, err, mine)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.keeper.Rows(names); err != nil || len(rows) != 0 {
		t.Fatalf("databases %v, error %v; want none", rows, err)
	}
}

func TestBinariesOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(BinEnv, "")
	t.Setenv("PATH", dir)
	if got, err := FindBinaries(); err != nil || got != dir {
		t.Errorf("from PATH: %q, %v", got, err)
	}
	t.Setenv(BinEnv, t.TempDir())
	if _, err := FindBinaries(); err == nil {
		t.Error("a folder without binaries was accepted")
	}
}

func start(t testing.TB) *Server {
	t.Helper()
	s, err := Start(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func gone(t *testing.T, dir string, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat(dir)
		// A killed process's server is reaped by init, which some containers lack: a zombie counts as gone.
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if os.IsNotExist(err) && (len(stat) == 0 || strings.Contains(string(stat), ") Z ")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("folder: %v, server: %s", err, stat)
		}
	}
}
