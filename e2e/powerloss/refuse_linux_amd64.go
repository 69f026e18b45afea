package powerloss

import "syscall"

// refuse makes the system call that a thread is about to do return an error instead.
func refuse(tid int, what syscall.Errno) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Orig_rax = ^uint64(0) // no system call
	regs.Rax = ^uint64(what) + 1
	return syscall.PtraceSetRegs(tid, &regs)
}
