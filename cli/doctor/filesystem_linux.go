package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Problems of file system types.
const (
	network = "a network file system: locks, fsync and memory maps are unreliable, and a network interruption stops the program"
	memory  = "it is in memory; a power failure loses everything"
	layer   = "it is the layer of a container, and is removed with it; mount a volume"
	unknown = "the storage behind it is unknown, and may be a network file system"
)

// kinds are file systems by their magic number in the kernel (linux/magic.h, and
// each one's own source).
var kinds = map[uint32]struct{ name, flaw string }{
	unix.EXT4_SUPER_MAGIC: {"ext", ""}, unix.XFS_SUPER_MAGIC: {"xfs", ""}, unix.BTRFS_SUPER_MAGIC: {"btrfs", ""},
	0x2fc12fc1: {"zfs", ""}, unix.F2FS_SUPER_MAGIC: {"f2fs", ""}, 0xca451a4e: {"bcachefs", ""},
	unix.NFS_SUPER_MAGIC: {"nfs", network}, unix.SMB_SUPER_MAGIC: {"smb", network}, 0xff534d42: {"cifs", network}, 0xfe534d42: {"smb2", network},
	unix.CODA_SUPER_MAGIC: {"coda", network}, unix.AFS_SUPER_MAGIC: {"afs", network}, 0x00c36400: {"ceph", network}, unix.V9FS_MAGIC: {"9p", network},
	0x0bd00bd0: {"lustre", network}, 0x47504653: {"gpfs", network}, 0x01161970: {"gfs2", network},
	unix.FUSE_SUPER_MAGIC:      {"fuse", unknown},
	unix.TMPFS_MAGIC:           {"tmpfs", memory},
	unix.RAMFS_MAGIC:           {"ramfs", memory},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", layer},
}

// fileSystem returns the type of a folder's file system, and its problem.
func fileSystem(folder string) (kind, flaw string) {
	var is unix.Statfs_t
	if err := unix.Statfs(folder, &is); err != nil {
		return "", ""
	}
	number := uint32(is.Type) //nolint:gosec // 32 bits, on each machine
	if k, known := kinds[number]; known {
		return k.name, k.flaw
	}
	return fmt.Sprintf("of an unknown kind (%#x)", number), ""
}
