//go:build !linux

package crash

func trapWhenRecorded() {}
