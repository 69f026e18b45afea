package store

import "golang.org/x/sys/unix"

// residentAfter is how many bytes of pages commits write before the mapping of the file
// is released.
const residentAfter = 16 << 20

// trimResident counts the pages of a commit and, every [residentAfter] bytes, releases
// the first size bytes of the file from the address space. The pages stay in the page
// cache, from where the next access maps sixteen at a time in a microsecond. Without
// trimResident, every page that is ever written counts as resident memory of the process,
// since each page that is read also maps its neighbours. Only the writer may call it: no
// other goroutine remaps the file, so the address is valid during the call.
func (s *Store) trimResident(size int64, pages int64) {
	info := s.db.Info()
	s.writtenPages += pages
	if s.writtenPages*int64(info.PageSize) < residentAfter {
		return
	}
	s.writtenPages = 0
	// An error means that the pages stay mapped, as they would without the call.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, info.Data, uintptr(size), unix.MADV_DONTNEED)
}
