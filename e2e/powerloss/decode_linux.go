package powerloss

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// onCall is a system call of interest from its beginning to its end.
type onCall struct {
	done func(result int64) // called with what it returned
	of   Call
}

// decoder reads one system call of a stopped thread.
type decoder struct {
	*tracer
	tid  int
	args [6]uint64
	seen string // the path that was read last
}

// callNames are those of Call.
var callNames = map[uint64]string{
	unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "write", unix.SYS_FTRUNCATE: "truncate", unix.SYS_FSYNC: "sync", unix.SYS_FDATASYNC: "sync",
	unix.SYS_OPENAT: "open", unix.SYS_MKDIRAT: "mkdir", unix.SYS_LINKAT: "link", unix.SYS_RENAMEAT: "rename", unix.SYS_RENAMEAT2: "rename", unix.SYS_UNLINKAT: "unlink",
}

// decode returns the call when it concerns the folder, and nil otherwise.
func (t *tracer) decode(tid int, nr uint64, args [6]uint64) (*onCall, error) {
	d := &decoder{tracer: t, tid: tid, args: args}
	call, err := d.call(nr)
	if call != nil {
		call.of = Call{callNames[nr], d.seen}
	}
	return call, err
}

func (d *decoder) call(nr uint64) (*onCall, error) {
	args := d.args
	switch nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		return d.write(nr)
	case unix.SYS_FTRUNCATE:
		return d.onFile(int32(args[0]), func(id int) *op { return &op{kind: truncates, file: id, size: int64(args[1])} })
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return d.onFile(int32(args[0]), func(id int) *op { return &op{kind: syncs, file: id} })
	case unix.SYS_OPENAT:
		return d.open()
	case unix.SYS_MKDIRAT:
		return d.mkdir()
	case unix.SYS_LINKAT:
		return d.link()
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		return d.rename(nr)
	case unix.SYS_UNLINKAT:
		return d.unlink()
	case unix.SYS_SYMLINKAT:
		return nil, d.unknownAt("symlink", 1, 2)
	case unix.SYS_TRUNCATE:
		return nil, d.unknownAt("truncate by name", noFolder, 0)
	case unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE:
		return nil, d.unknown("copy between files", int32(args[2]))
	case unix.SYS_SENDFILE, unix.SYS_FALLOCATE:
		return nil, d.unknown("sendfile or fallocate", int32(args[0]))
	}
	return nil, nil
}

// onFile begins what make returns for the file that is open as fd.
func (d *decoder) onFile(fd int32, make func(id int) *op) (*onCall, error) {
	id, _, err := d.opened(fd)
	if err != nil || id == 0 {
		return nil, err
	}
	o := d.rec.begin(make(id))
	return &onCall{done: func(result int64) { d.rec.finish(o, result < 0) }}, nil
}

func (d *decoder) write(nr uint64) (*onCall, error) {
	fd := int32(d.args[0])
	id, path, err := d.opened(fd)
	if err != nil || id == 0 {
		return nil, err
	}
	o := &op{kind: writes, file: id, offset: int64(d.args[3])}
	switch nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		o.data, err = memoryOf(d.tid, d.args[1], d.args[2])
		if err == nil && uint64(len(o.data)) != d.args[2] {
			err = errors.New("memory cut short")
		}
	default:
		err = errors.New("a write of several pieces is not modelled")
	}
	if err == nil && nr == unix.SYS_WRITE {
		o.offset, err = d.offset(fd)
	}
	if err != nil {
		return nil, fmt.Errorf("powerloss: write to %s: %w", path, err)
	}
	d.rec.begin(o)
	return &onCall{done: func(result int64) {
		if result >= 0 {
			o.data = o.data[:result]
		}
		d.rec.finish(o, result < 0)
	}}, nil
}

// offset returns where the next write to fd goes.
func (d *decoder) offset(fd int32) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", d.tid, fd))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if at, found := strings.CutPrefix(line, "pos:"); found {
			return strconv.ParseInt(strings.TrimSpace(at), 10, 64)
		}
	}
	return 0, errors.New("no position")
}

func (d *decoder) open() (*onCall, error) {
	flags := d.args[2]
	if flags&(unix.O_CREAT|unix.O_TRUNC) == 0 {
		return nil, nil
	}
	path, err := d.path(0, 1)
	if err != nil || path == "" {
		return nil, err
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return nil, fmt.Errorf("powerloss: a file without a name in %s is not modelled", path)
	}
	if _, err := os.Lstat(path); err == nil {
		if flags&unix.O_TRUNC == 0 {
			return nil, nil
		}
		return d.onPath(path, func(id int) *op { return &op{kind: truncates, file: id} })
	}
	return d.making(path, false), nil
}

func (d *decoder) mkdir() (*onCall, error) {
	path, err := d.path(0, 1)
	if err != nil || path == "" {
		return nil, err
	}
	return d.making(path, true), nil
}

// making returns a call that makes a new file at path.
func (d *decoder) making(path string, dir bool) *onCall {
	return &onCall{done: func(result int64) {
		if result < 0 {
			return
		}
		info, err := os.Lstat(path)
		if err != nil {
			d.fail(err)
			return
		}
		d.named(name{d.folder(path), filepath.Base(path), d.rec.newFile(inode(info)), dir})
	}}
}

func (d *decoder) link() (*onCall, error) {
	to, err := d.path(2, 3)
	if err != nil || to == "" {
		return nil, err
	}
	from, err := d.path(0, 1)
	if err != nil {
		return nil, err
	}
	return d.onEnd(from, func(id int) { d.named(name{d.folder(to), filepath.Base(to), id, false}) })
}

func (d *decoder) rename(nr uint64) (*onCall, error) {
	from, err := d.path(0, 1)
	if err != nil {
		return nil, err
	}
	to, err := d.path(2, 3)
	if err != nil || from == "" && to == "" {
		return nil, err
	}
	if from == "" || to == "" || nr == unix.SYS_RENAMEAT2 && d.args[4]&unix.RENAME_EXCHANGE != 0 {
		return nil, fmt.Errorf("powerloss: renaming %s to %s is not modelled", from, to)
	}
	info, err := os.Lstat(from)
	if err != nil {
		return nil, nil //nolint:nilerr // the call will fail too
	}
	return d.onEnd(from, func(id int) {
		d.named(name{d.folder(from), filepath.Base(from), 0, false}, name{d.folder(to), filepath.Base(to), id, info.IsDir()})
	})
}

func (d *decoder) unlink() (*onCall, error) {
	path, err := d.path(0, 1)
	if err != nil || path == "" {
		return nil, err
	}
	return &onCall{done: func(result int64) {
		if result >= 0 {
			d.named(name{d.folder(path), filepath.Base(path), 0, false})
		}
	}}, nil
}

// onPath begins an operation on the file at path.
func (d *decoder) onPath(path string, make func(id int) *op) (*onCall, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	id, err := d.rec.file(info)
	if err != nil {
		return nil, err
	}
	o := d.rec.begin(make(id))
	return &onCall{done: func(result int64) { d.rec.finish(o, result < 0) }}, nil
}

// onEnd calls fn with the file that is at path now, once the call succeeded.
func (d *decoder) onEnd(path string, fn func(id int)) (*onCall, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil //nolint:nilerr // the call will fail too
	}
	id, err := d.rec.file(info)
	if err != nil {
		return nil, err
	}
	return &onCall{done: func(result int64) {
		if result >= 0 {
			fn(id)
		}
	}}, nil
}

// named notes a change of names that has happened.
func (d *decoder) named(all ...name) {
	d.rec.finish(d.rec.begin(&op{kind: names, names: all}), false)
}

// folder returns the id of the folder that path is in.
func (d *decoder) folder(path string) int {
	info, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		d.fail(err)
		return 0
	}
	id, err := d.rec.file(info)
	if err != nil {
		d.fail(err)
	}
	return id
}

// opened returns the file of the folder that is open as fd; 0 when it is another.
func (d *decoder) opened(fd int32) (id int, path string, err error) {
	link := fmt.Sprintf("/proc/%d/fd/%d", d.tid, fd)
	path, err = os.Readlink(link)
	if err != nil || !d.inside(strings.TrimSuffix(path, " (deleted)")) {
		return 0, "", nil //nolint:nilerr // a descriptor that is not open: the call will fail
	}
	info, err := os.Stat(link)
	if err != nil {
		return 0, "", err
	}
	id, err = d.rec.file(info)
	d.seen = path
	return id, path, err
}

const noFolder = -1

// path returns the path that an argument holds, from the folder in another argument;
// empty when it is not in the folder.
func (d *decoder) path(folder, arg int) (string, error) {
	text, err := memoryOf(d.tid, d.args[arg], unix.PathMax)
	if err != nil {
		return "", fmt.Errorf("powerloss: a path: %w", err)
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	path := string(text)
	if !filepath.IsAbs(path) {
		from := fmt.Sprintf("/proc/%d/cwd", d.tid)
		if folder != noFolder && int32(d.args[folder]) != unix.AT_FDCWD {
			from = fmt.Sprintf("/proc/%d/fd/%d", d.tid, int32(d.args[folder]))
		}
		if from, err = os.Readlink(from); err != nil {
			return "", err
		}
		path = filepath.Join(from, path)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !d.inside(path) {
		return "", nil
	}
	d.seen = path
	return path, nil
}

func (d *decoder) inside(path string) bool {
	return path == d.rec.root || strings.HasPrefix(path, d.rec.root+string(filepath.Separator))
}

// unknown returns an error when the call concerns a file of the folder.
func (d *decoder) unknown(what string, fd int32) error {
	id, path, err := d.opened(fd)
	if err == nil && id != 0 {
		err = fmt.Errorf("powerloss: %s of %s is not modelled", what, path)
	}
	return err
}

func (d *decoder) unknownAt(what string, folder, arg int) error {
	path, err := d.path(folder, arg)
	if err == nil && path != "" {
		err = fmt.Errorf("powerloss: %s of %s is not modelled", what, path)
	}
	return err
}
