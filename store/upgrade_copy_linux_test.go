package store

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"postern/store/files"
	"postern/store/schema"
)

// forbidChown refuses fchown to all threads of this process with EPERM, as the filter of
// packaging/postern.service does.
func forbidChown() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FCHOWN, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// TestUpgradesWhereOwnersCannotBeChanged runs itself again for each file, in a process that
// may not change owners.
func TestUpgradesWhereOwnersCannotBeChanged(t *testing.T) {
	const variable = "POSTERN_TEST_UPGRADE"
	if path := os.Getenv(variable); path != "" {
		if err := forbidChown(); err != nil {
			t.Skip("no filter of system calls here:", err)
		}
		s, err := Open(Options{Path: path, Buckets: []schema.Bucket{thing, entry, other, {Name: "another", Owner: "test"}}, KeepBefore: true, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	for name, uid := range map[string]int{"own file": os.Getuid(), "file of another user": 4711} {
		t.Run(name, func(t *testing.T) {
			if uid != os.Getuid() && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			path := filled(t, func(*bolt.Tx) error { return nil })
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o660); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(path, uid, -1); err != nil {
				t.Fatal(err)
			}
			again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUpgradesWhereOwnersCannotBeChanged$", "-test.v")
			again.Env = append(os.Environ(), variable+"="+path)
			said, err := again.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			if bytes.Contains(said, []byte("--- SKIP")) {
				t.Skipf("%s", said)
			}
			if kept, err := os.ReadFile(path + beforeSuffix); err != nil || !bytes.Equal(kept, before) {
				t.Errorf("kept: %v", err)
			}
			mode := os.FileMode(0o660)
			if uid != os.Getuid() {
				mode = files.Mode
			}
			if info, err := os.Stat(path + beforeSuffix); err != nil || info.Mode().Perm() != mode {
				t.Errorf("mode of the copy: %v, %v", info.Mode(), err)
			}
		})
	}
}
