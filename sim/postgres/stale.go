package postgres

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// removeStale stops the servers and removes the folders of clusters whose simrun is gone. A folder belongs to a living simrun
// as long as its owner file is locked: the kernel frees the lock with the process, however that ended.
func removeStale() {
	for _, base := range []string{os.TempDir(), "/tmp"} {
		dirs, _ := filepath.Glob(filepath.Join(base, clusterPrefix+"*"))
		for _, dir := range dirs {
			removeIfStale(dir)
		}
		newborn, _ := filepath.Glob(filepath.Join(base, newbornPrefix+"*"))
		for _, dir := range newborn {
			if st, err := os.Stat(dir); err == nil && time.Since(st.ModTime()) > 10*time.Minute {
				_ = os.RemoveAll(dir)
			}
		}
	}
}

func removeIfStale(dir string) {
	owner, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_RDWR, 0)
	if err != nil {
		return // not ours, or another process is removing it
	}
	defer owner.Close()
	if unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	data := filepath.Join(dir, "data")
	if pid := postmaster(data); pid != 0 {
		quit(pid, func() bool { return postmaster(data) != pid })
	}
	_ = os.RemoveAll(dir)
}

// postmaster returns the process id of the server that runs in the data folder, 0 for none. It trusts postmaster.pid only if
// the process has the folder on its command line, since the number may belong to another process by now.
func postmaster(data string) int {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || unix.Kill(pid, 0) == unix.ESRCH {
		return 0
	}
	if args, err := os.ReadFile("/proc/" + first + "/cmdline"); err == nil && !strings.Contains(string(args), data) {
		return 0
	}
	return pid
}

// quit stops a server with an immediate shutdown and returns when gone says so. Backends that are held with SIGSTOP are let
// go first, since a stopped process does not act on SIGQUIT.
func quit(postmaster int, gone func() bool) {
	_ = unix.Kill(postmaster, unix.SIGQUIT)
	for _, pid := range children(postmaster) {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	for deadline := time.Now().Add(10 * time.Second); !gone(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = unix.Kill(postmaster, unix.SIGKILL)
			deadline = time.Now().Add(time.Hour)
		}
	}
}

// children returns the child processes of a process. It needs /proc; elsewhere there is none to find, and the server itself
// kills children that do not act on SIGQUIT within 5 s.
func children(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var pids []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state ppid ...; the name may hold blanks and brackets.
		end := strings.LastIndexByte(string(text), ')')
		if end < 0 {
			continue
		}
		fields := strings.Fields(string(text[end+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}
