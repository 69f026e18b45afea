package powerloss

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Process is a program that is being recorded.
type Process struct {
	Pid    int
	killed atomic.Bool
	done   chan struct{}
	exit   syscall.WaitStatus
	err    error
}

// Run starts cmd, which calls Trap first thing, and records it until it ends.
// Its Stdout and Stderr are files or nil, and cmd.Wait is not to be called.
func (r *Recording) Run(cmd *exec.Cmd) (*Process, error) {
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The thread that starts the program is its tracer. It is never given
		// back: what it traces ends with it.
		runtime.LockOSThread()
		defer close(p.done)
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Ptrace = true
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.Pid = cmd.Process.Pid
		t := &tracer{rec: r, of: p, main: p.Pid, threads: map[int]*thread{}}
		if err := t.attach(); err != nil {
			_ = cmd.Process.Kill()
			started <- fmt.Errorf("powerloss: trace: %w", err)
			return
		}
		started <- nil
		p.exit, p.err = t.run()
		_ = cmd.Process.Release()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Kill ends the program between any two instructions.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		p.killed.Store(true)
		_ = syscall.Kill(p.Pid, syscall.SIGKILL)
	}
}

// Wait waits for the end of the program. Its error is that of the recorder.
func (p *Process) Wait() (syscall.WaitStatus, error) {
	<-p.done
	return p.exit, p.err
}

// tracer handles the stops of one program and its children.
type tracer struct {
	rec     *Recording
	of      *Process
	main    int
	threads map[int]*thread
	held    []held
}

// thread is a thread of the program.
type thread struct {
	began bool    // its first stop was seen
	call  *onCall // the system call that it is in
}

// held is a thread that waits for its call to begin.
type held struct {
	tid   int
	until time.Time
	hold  func() bool // nil: it waits for the time alone
}

const (
	waitAll   = unix.WALL | unix.WNOTHREAD // the program's threads and children; not the children of other threads here
	pollEvery = 100 * time.Microsecond
)

func (t *tracer) attach() error {
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(t.main, &ws, waitAll, nil); err != nil {
		return err
	}
	t.threads[t.main] = &thread{began: true}
	err := syscall.PtraceSetOptions(t.main, unix.PTRACE_O_TRACESECCOMP|unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL|
		unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEFORK|unix.PTRACE_O_TRACEVFORK|unix.PTRACE_O_TRACEEXEC)
	if err != nil {
		return err
	}
	return syscall.PtraceCont(t.main, 0)
}

// run handles stops until no process is left, and returns how the program ended.
func (t *tracer) run() (exit syscall.WaitStatus, err error) {
	for {
		var ws syscall.WaitStatus
		options := waitAll
		if len(t.held) > 0 {
			t.letGo()
			options |= unix.WNOHANG
		}
		tid, err := syscall.Wait4(-1, &ws, options, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			return exit, nil
		case err != nil:
			return exit, fmt.Errorf("powerloss: wait: %w", err)
		case tid == 0:
			time.Sleep(pollEvery)
		case ws.Exited() || ws.Signaled():
			if tid == t.main {
				exit = ws
			}
			delete(t.threads, tid)
		default:
			t.stopped(tid, ws)
		}
	}
}

// fail notes what could not be recorded. Of a program that was killed, and of a
// thread that another one of its program ended with itself, nothing can be read any
// more, and the call that it was about to do is not done.
func (t *tracer) fail(err error) {
	if !t.of.killed.Load() && !errors.Is(err, syscall.ESRCH) {
		t.rec.fail(err)
	}
}

// letGo lets the threads go on whose time has come.
func (t *tracer) letGo() {
	now, rest := time.Now(), t.held[:0]
	var again []int
	for _, h := range t.held {
		switch {
		case now.Before(h.until) || h.hold != nil && !h.hold():
			rest = append(rest, h)
		case h.hold != nil:
			again = append(again, h.tid)
		default:
			t.resume(h.tid, true, 0)
		}
	}
	t.held = rest
	for _, tid := range again {
		if th := t.threads[tid]; th != nil && th.call != nil {
			t.perform(tid, th)
		}
	}
}

func (t *tracer) stopped(tid int, ws syscall.WaitStatus) {
	th := t.threads[tid]
	if th == nil {
		th = &thread{}
		t.threads[tid] = th
	}
	signal := ws.StopSignal()
	switch {
	case ws.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		t.enter(tid, th)
	case signal == syscall.SIGTRAP|0x80:
		t.leave(tid, th)
		t.resume(tid, false, 0)
	case ws.TrapCause() > 0: // a new thread or process, or another program in this one
		t.resume(tid, th.call != nil, 0)
	case signal == syscall.SIGSTOP && !th.began: // as every new thread
		th.began = true
		t.resume(tid, false, 0)
	default:
		t.resume(tid, th.call != nil, signal)
	}
	th.began = true
}

// enter handles a thread that is about to do a system call of those trapped.
func (t *tracer) enter(tid int, th *thread) {
	nr, args, err := callOf(tid)
	if err != nil {
		t.fail(err)
		t.resume(tid, false, 0)
		return
	}
	if th.call, err = t.decode(tid, nr, args); err != nil {
		t.fail(err)
	}
	if th.call == nil {
		t.resume(tid, false, 0)
		return
	}
	t.perform(tid, th)
}

// perform lets a thread do its call, or what the recording wants instead.
func (t *tracer) perform(tid int, th *thread) {
	var fault Fault
	if t.rec.Fault != nil {
		fault = t.rec.Fault(th.call.of)
	}
	switch {
	case fault.Kill:
		t.of.Kill()
		th.call = nil
		return
	case fault.Err != 0:
		if err := refuse(tid, fault.Err); err != nil {
			t.fail(fmt.Errorf("powerloss: make a call fail: %w", err))
		}
		th.call.done(-int64(fault.Err))
		th.call = nil
		t.resume(tid, false, 0)
		return
	case fault.Delay > 0 || fault.Hold != nil:
		t.held = append(t.held, held{tid, time.Now().Add(fault.Delay), fault.Hold})
		return
	}
	t.resume(tid, true, 0)
}

func (t *tracer) leave(tid int, th *thread) {
	if th.call == nil {
		return
	}
	result, err := resultOf(tid)
	if err != nil {
		t.fail(err)
	} else {
		th.call.done(result)
	}
	th.call = nil
}

// resume lets a stopped thread continue, to the end of its system call or to the
// next one that is trapped. A thread that was killed meanwhile is no error.
func (t *tracer) resume(tid int, toEnd bool, signal syscall.Signal) {
	var err error
	if toEnd {
		err = syscall.PtraceSyscall(tid, int(signal))
	} else {
		err = syscall.PtraceCont(tid, int(signal))
	}
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.fail(fmt.Errorf("powerloss: resume: %w", err))
	}
}

// syscallInfo is struct ptrace_syscall_info of Linux 5.3.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	_    [2]uint64 // instruction and stack pointer
	data [8]uint64 // at a stop of seccomp: number, six arguments; at an exit: result
}

func infoOf(tid int) (info syscallInfo, err error) {
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return info, fmt.Errorf("powerloss: system call: %w", errno)
	}
	return info, nil
}

func callOf(tid int) (nr uint64, args [6]uint64, err error) {
	info, err := infoOf(tid)
	copy(args[:], info.data[1:])
	return info.data[0], args, err
}

func resultOf(tid int) (int64, error) {
	info, err := infoOf(tid)
	return int64(info.data[0]), err
}

// memoryOf reads the memory of a stopped thread.
func memoryOf(tid int, address, size uint64) ([]byte, error) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	data := make([]byte, size)
	n, err := mem.ReadAt(data, int64(address))
	if n > 0 && err != nil {
		return data[:n], nil
	}
	return data, err
}
