package network

import "testing"

func TestDeviceIDsAreReusedLast(t *testing.T) {
	a := newAccount("5511911111111", "77")
	first, _ := a.freeDevice()
	second, _ := a.freeDevice()
	if first != 1 || second != 2 {
		t.Errorf("first ids %d and %d", first, second)
	}
	a.last, a.devices[1] = maxDevice, &device{}
	if id, ok := a.freeDevice(); !ok || id != 2 {
		t.Errorf("after the last id came %d, %v; 1 is still linked", id, ok)
	}
	for id := range uint16(maxDevice) {
		a.devices[id+1] = &device{}
	}
	if id, ok := a.freeDevice(); ok {
		t.Errorf("id %d was given twice", id)
	}
}
