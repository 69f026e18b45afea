// Package powerloss finds out what a power cut leaves of a program's files. It
// is for tests only: no part of the program imports it.
//
// # The recorder
//
// A [Recording] runs a program under ptrace and writes down what its system
// calls do to the files of one folder: writes, truncations, syncs, and the
// making, linking, renaming and removing of names. Nothing above the kernel is
// asked, so that no library and no helper of the program can forget to report
// something; bbolt syncs with a system call of its own, which no wrapped file
// would see. A filter (seccomp) stops the program for these calls only. Each
// call has a position where it began and one where it returned, and [Recording.Pos]
// is the position of now: a reader of the program's output notes it, and
// may expect it from every disk that is cut off at that position or later.
//
// A call can be made to take long, to wait or to fail, and the program can be killed
// before it. Slow syncs widen the gap in which a careless program reports too much.
//
// # The disk
//
// A [Disk] replays a recording up to a position. Of every file it knows what is
// on the disk for sure, since a sync that began afterwards returned, and which
// changes were on their way. [Disk.Write] makes an image of what a cut at that
// moment may leave: of the changes on their way any subset, in any order, torn
// at 512 or 4096 bytes. The name of a file is on the disk once its folder was
// synced, whatever was done to the file. A renaming happens wholly or not.
//
// A sync that failed leaves its changes in the memory of the system, clean: the
// next process reads them, no later sync writes them, and a cut may or may not
// have them, until the same bytes are written again.
//
// Not modelled: the modes and times of files, and files that are written by
// memory mapping. A call that is not modelled and concerns the folder is an
// error of the recording.
package powerloss
