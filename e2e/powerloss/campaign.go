//go:build linux

package powerloss

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Campaign reports how many images of a recording are to be looked at.
type Campaign struct {
	Images int
	Seed   uint64
	Folder string           // where images are made, one a processor at a time
	Near   []int            // positions that are looked at more closely: where something was reported
	Skip   func(n int) bool // see Disk.Skip
}

// Try makes images of the disk at moments chosen at random and calls check with
// each and with the position at which it was cut off. It returns what check
// found, with the position.
func (r *Recording) Try(c Campaign, check func(folder string, pos int) error) (findings []error) {
	var mu sync.Mutex
	var work sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), c.Images)
	for i := range workers {
		n := c.Images / workers
		if i == 0 {
			n += c.Images % workers
		}
		work.Go(func() {
			for _, err := range r.try(c, rand.New(rand.NewPCG(c.Seed, uint64(i))), n, check) {
				mu.Lock()
				findings = append(findings, err)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return findings
}

func (r *Recording) try(c Campaign, rng *rand.Rand, n int, check func(folder string, pos int) error) (findings []error) {
	d := r.Disk()
	d.Skip = c.Skip
	for _, pos := range r.cuts(rng, n, c.Near) {
		d.Advance(pos)
		if err := d.look(rng, c.Folder, pos, check); err != nil {
			findings = append(findings, fmt.Errorf("cut off at %d: %w", pos, err))
		}
	}
	return findings
}

const (
	soon  = 3   // positions: a fact that was reported too early is true after the sync that is on its way
	shaky = 100 // positions: some commits
)

// cuts chooses n positions: a third of them anywhere, a third soon after those
// near, and a third in the time after a sync that failed, as far as there are
// such.
func (r *Recording) cuts(rng *rand.Rand, n int, near []int) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed []int
	for _, o := range r.ops {
		if o.kind == syncs && o.failed {
			failed = append(failed, o.end)
		}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = rng.IntN(r.pos + 1)
		switch {
		case i%3 == 1 && len(near) > 0:
			all[i] = min(near[rng.IntN(len(near))]+rng.IntN(soon), r.pos)
		case i%3 == 2 && len(failed) > 0:
			all[i] = min(failed[rng.IntN(len(failed))]+rng.IntN(shaky), r.pos)
		}
	}
	slices.Sort(all)
	return all
}

// look makes one image, has it checked and removes it.
func (d *Disk) look(rng *rand.Rand, folder string, pos int, check func(folder string, pos int) error) error {
	image, err := os.MkdirTemp(folder, "image-*")
	if err != nil {
		return err
	}
	if err = d.Write(rng, image); err == nil {
		err = check(image, pos)
	}
	return errors.Join(err, os.RemoveAll(image))
}
