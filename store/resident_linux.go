package store

import "golang.org/x/sys/unix"

// residentAfter is how many bytes of pages the commits write before the mapping of the
// file is given back.
const residentAfter = 16 << 20

// trimResident counts the pages of a commit and, every [residentAfter] bytes, takes the
// first size bytes of the file out of the address space. The pages stay in the page cache,
// from where the next access maps sixteen at a time in a microsecond. Without it every page
// that is ever written counts as resident memory of the process, since its neighbours are
// mapped with each page that is read. Only the writer may call it: it alone maps the file
// again, so that the address is that of the file for as long as the call takes.
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
