package powerloss

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
	"postern/store/pages/pagestest"
	"postern/store/schema"
)

var (
	counters = schema.Bucket{Name: "counter", Owner: "test", Key: "writer", Value: "how often it wrote"}
	owner    = uuid.MustParse("5f2cb0c4-4a5b-4b5e-9f11-111111111111")
)

const (
	storeWriters = 6
	storeReaders = 3
	storeRounds  = 25
	lives        = 6 // of the program on one disk
)

func dataFile(folder string) string { return filepath.Join(folder, "data", "of", "postern.db") }

// opened is a data file and its outbox.
type opened struct {
	*store.Store
	box *outbox.Outbox
}

func openStore(folder string) (*opened, error) {
	s, err := store.Open(store.Options{Path: dataFile(folder), Buckets: append(outbox.Buckets(), counters), MinFree: 1, SurveyFrom: 1})
	if err != nil {
		return nil, err
	}
	box, err := outbox.Open(s)
	return &opened{s, box}, err
}

// storeChild writes through the real store, and reports what it was answered and
// what readers see meanwhile: counters as "counter WRITER N", events as "event
// NUMBER CHECKSUM", and "open" once there is a file.
func storeChild(folder string, tell func(string)) error {
	s, err := openStore(folder)
	if err != nil {
		return err
	}
	tell("open")
	var stop sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	for range storeReaders {
		stop.Go(func() {
			for ctx.Err() == nil {
				readAndTell(s, tell)
				time.Sleep(time.Millisecond)
			}
		})
	}
	var writers sync.WaitGroup
	for w := range storeWriters {
		writers.Go(func() { writeAndTell(s, w, tell) })
	}
	writers.Wait()
	cancel()
	stop.Wait()
	return s.Close()
}

func writeAndTell(s *opened, w int, tell func(string)) {
	rng := rand.New(rand.NewPCG(uint64(w), uint64(time.Now().UnixNano())))
	for range storeRounds {
		var n uint64
		err := s.Update(context.Background(), func(tx *store.Tx) error {
			n = counter(tx, w) + 1
			// Values of all sizes, so that pages split, merge and overflow.
			value := append(binary.BigEndian.AppendUint64(nil, n), make([]byte, rng.IntN(9000)>>rng.IntN(9))...)
			err := tx.Put(counters.Name, store.Key(w), value)
			if rng.IntN(3) == 0 {
				err = errors.Join(err, s.box.Emit(tx, outbox.Emission{Kind: event.BatchCreated, Owner: owner, Batch: owner, Data: fmt.Sprint(w, n)}))
			}
			return err
		})
		if err == nil {
			tell(fmt.Sprintf("counter %d %d", w, n))
		}
	}
}

// growChild makes the file grow several times, which bbolt does in steps of
// 16 MiB. Its counters are reported as those of storeChild.
func growChild(folder string, tell func(string)) error {
	s, err := openStore(folder)
	if err != nil {
		return err
	}
	tell("open")
	for n := range uint64(12) {
		err := s.Update(context.Background(), func(tx *store.Tx) error {
			return errors.Join(
				tx.Put(counters.Name, store.Key(0), binary.BigEndian.AppendUint64(nil, n)),
				tx.Put(counters.Name, store.Key("large", n), make([]byte, 4<<20)))
		})
		if err != nil {
			return err
		}
		tell(fmt.Sprintf("counter 0 %d", n))
	}
	return s.Close()
}

func counter(tx *store.Tx, w int) uint64 {
	v, err := tx.Get(counters.Name, store.Key(w))
	if err != nil || v == nil {
		return 0
	}
	return binary.BigEndian.Uint64(v)
}

func readAndTell(s *opened, tell func(string)) {
	var lines []string
	err := s.View(func(tx *store.Tx) error {
		lines = lines[:0]
		for w := range storeWriters {
			lines = append(lines, fmt.Sprintf("counter %d %d", w, counter(tx, w)))
		}
		newest, err := outbox.NewestOf(tx, owner)
		if err != nil || newest == 0 {
			return err
		}
		entries, err := outbox.Replay(tx, owner, newest-1, 1)
		for _, e := range entries {
			lines = append(lines, fmt.Sprintf("event %d %d", e.OwnerSeq, crc32.ChecksumIEEE(e.Body)))
		}
		return err
	})
	if err == nil {
		tell(strings.Join(lines, "\n"))
	}
}

// facts are what a child reported up to a position.
type facts struct {
	open     bool
	counters [storeWriters]uint64
	events   map[uint64]string // checksum by number
}

func factsAt(all []reported, pos int) facts {
	f := facts{events: map[uint64]string{}}
	for _, fact := range all {
		if fact.pos > pos {
			break
		}
		word := strings.Fields(fact.text)
		switch word[0] {
		case "open":
			f.open = true
		case "counter":
			w, _ := strconv.Atoi(word[1])
			n, _ := strconv.ParseUint(word[2], 10, 64)
			f.counters[w] = max(f.counters[w], n)
		case "event":
			n, _ := strconv.ParseUint(word[1], 10, 64)
			f.events[n] = word[2]
		}
	}
	return f
}

// checkStore opens an image with the real store and checks it against what had
// been reported.
func checkStore(folder string, f facts) error {
	if _, err := os.Stat(dataFile(folder)); err != nil && !f.open {
		return nil // nothing was there yet
	}
	if err := pagestest.Check(dataFile(folder)); err != nil {
		return err
	}
	s, err := openStore(folder)
	if err != nil {
		return err
	}
	err = s.View(func(tx *store.Tx) error { return f.hold(tx) })
	if n := s.Stats().Damaged; n > 0 {
		err = errors.Join(err, fmt.Errorf("%d damaged records", n))
	}
	return errors.Join(err, s.Close())
}

func (f facts) hold(tx *store.Tx) error {
	for w, n := range f.counters {
		if got := counter(tx, w); got < n {
			return fmt.Errorf("writer %d reported %d, there is %d", w, n, got)
		}
	}
	entries, err := outbox.Replay(tx, owner, 0, 1<<20)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if e.OwnerSeq != uint64(i+1) {
			return fmt.Errorf("event %d has number %d", i+1, e.OwnerSeq)
		}
		if sum, reported := f.events[e.OwnerSeq]; reported && sum != fmt.Sprint(crc32.ChecksumIEEE(e.Body)) {
			return fmt.Errorf("event %d differs from the report", e.OwnerSeq)
		}
		delete(f.events, e.OwnerSeq)
	}
	if len(f.events) > 0 {
		return fmt.Errorf("%d events were reported and are not there: %v of %d", len(f.events), f.events, len(entries))
	}
	return nil
}

// imageFolder returns where images are made: in memory where there is such a place,
// since each is synced several times.
func imageFolder(t *testing.T) string {
	t.Helper()
	if folder, err := os.MkdirTemp("/dev/shm", "postern-images-*"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
		return folder
	}
	return t.TempDir()
}

// amount returns how many images a test looks at.
func amount(t *testing.T, usual int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("IMAGES")); err == nil && n > 0 {
		return n
	}
	return usual
}

// How many images one recording is good for. Failures are where they are in one
// recording, so that there are more of these.
const (
	perRecording = 5000
	perFailures  = 1000
)

// seedOf is SEED, or anything.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64N(1_000_000)
}

// slowly makes a sync take some milliseconds, so that what is reported too early is
// heard before the sync has ended.
func slowly(rng *rand.Rand, c Call) (fault Fault) {
	if c.Name == "sync" {
		fault.Delay = time.Duration(rng.IntN(4)) * time.Millisecond
	}
	return fault
}

// storeTrial is a recording of the store child and what it reported.
type storeTrial struct {
	*Recording
	reported []reported
}

func (s *storeTrial) try(c Campaign) []error {
	for _, fact := range s.reported {
		c.Near = append(c.Near, fact.pos)
	}
	return s.Try(c, func(folder string, pos int) error { return checkStore(folder, factsAt(s.reported, pos)) })
}

func report(t *testing.T, findings []error) {
	t.Helper()
	for _, err := range findings[:min(len(findings), 5)] {
		t.Error(err)
	}
}

func TestPowerLossKeepsWhatTheStoreReported(t *testing.T) {
	folder := imageFolder(t)
	for left, seed := amount(t, 40), seedOf(t); left > 0; left, seed = left-perRecording, seed+1 {
		s := &storeTrial{Recording: newRecording(t)}
		rng := rand.New(rand.NewPCG(seed, 0))
		s.Fault = func(c Call) Fault { return slowly(rng, c) }
		var exit syscall.WaitStatus
		if s.reported, exit = record(t, s.Recording, "store"); exit.ExitStatus() != 0 {
			t.Fatalf("exit status %d", exit.ExitStatus())
		}
		c := Campaign{Images: min(left, perRecording), Seed: seed, Folder: folder}
		findings := s.try(c)
		report(t, findings)
		done, _ := s.Syncs()
		t.Logf("SEED=%d: %d images of %d positions, %d syncs, %d facts: %d findings", seed, c.Images, s.Pos(), done, len(s.reported), len(findings))
	}
}

func TestPowerLossWhileTheFileGrows(t *testing.T) {
	s := &storeTrial{Recording: newRecording(t)}
	s.reported, _ = record(t, s.Recording, "grow")
	c := Campaign{Images: amount(t, 200) / 50, Seed: seedOf(t), Folder: imageFolder(t)} // large ones
	findings := s.try(c)
	report(t, findings)
	t.Logf("SEED=%d: %d images of %d positions: %d findings", c.Seed, c.Images, s.Pos(), len(findings))
}

// TestTheProverNoticesSyncsThatAreLeftOut: a disk that forgets every fourth
// sync, whichever it begins with, breaks what the store promises.
func TestTheProverNoticesSyncsThatAreLeftOut(t *testing.T) {
	s := &storeTrial{Recording: newRecording(t)}
	s.reported, _ = record(t, s.Recording, "store")
	folder := imageFolder(t)
	for first := range 4 {
		found, images := 0, 0
		for seed := uint64(1); found == 0 && images < 200; seed++ {
			c := Campaign{Images: 20, Seed: seed, Folder: folder, Skip: func(n int) bool { return n%4 == first }}
			found += len(s.try(c))
			images += c.Images
		}
		if found == 0 {
			t.Errorf("no image of %d shows that every fourth sync, from the %d. on, was left out", images, first)
		}
		t.Logf("from the %d. on: %d of %d", first, found, images)
	}
}

// TestAFailedSyncAndARestartDamageNothing: a sync fails and the program ends, or
// it is killed. It is started again without a reboot, and then there is a power
// cut.
func TestAFailedSyncAndARestartDamageNothing(t *testing.T) {
	folder := imageFolder(t)
	all := 0
	for left, seed := amount(t, 40), seedOf(t); left > 0; left, seed = left-perFailures, seed+1 {
		s := &storeTrial{Recording: newRecording(t)}
		rng := rand.New(rand.NewPCG(seed, 1))
		failures := 0
		s.Fault = func(c Call) Fault {
			fault := slowly(rng, c)
			// Once there is a file, so that every life gets to its work.
			if c.Name == "sync" && c.Path == dataFile(s.root) && rng.IntN(60) == 0 {
				fault.Err = syscall.EIO
				failures++
			}
			return fault
		}
		for range lives {
			lines, exit := recordUntil(t, s.Recording, "store", 50+rng.IntN(2000))
			s.reported = append(s.reported, lines...)
			if exit.Exited() && exit.ExitStatus() != 0 && failures == 0 {
				t.Fatalf("exit status %d", exit.ExitStatus())
			}
		}
		c := Campaign{Images: min(left, perFailures), Seed: seed, Folder: folder}
		findings := s.try(c)
		report(t, findings)
		t.Logf("SEED=%d: %d images of %d positions, %d failed syncs: %d findings", seed, c.Images, s.Pos(), failures, len(findings))
		all += failures
	}
	if all == 0 {
		t.Skip("no sync can be made to fail here")
	}
}
