package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"postern/app"
	"postern/e2e/capture"
	"postern/store"
	filepages "postern/store/pages"
)

// flipCount returns how many bits are flipped: FLIPS, or a few.
func flipCount() int {
	if n, err := strconv.Atoi(os.Getenv("FLIPS")); err == nil && n > 0 {
		return n
	}
	return 16
}

// TestFlippedBitsAreCorrectedOrReported flips single bits of the file of
// a program that died under load: everywhere in it, and in the pages that are in
// use. Each time the file is either refused with words, or all of its records
// are there, byte for byte, but for one that the log names; then the whole
// program is started on it, too, and must run, warn, and tell nothing that was
// not so.
func TestFlippedBitsAreCorrectedOrReported(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	seed := killSeed()
	job, image, used := damagedJob(t, seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range flipCount() {
		bit := rng.Int64N(8 * int64(len(image)))
		if i%2 == 0 {
			page := used[rng.IntN(len(used))]
			bit = 8*page + rng.Int64N(8*int64(os.Getpagesize()))
		}
		job.Flips = append(job.Flips, bit)
	}
	t.Logf("SEED=%d: %d bytes, %d pages in use", seed, len(image), len(used))
	runFlips(t, job)
}

// TestUnreadableRecordsDoNotStopTheProgram replaces records
// of every bucket by what their owners never wrote, with a right checksum.
func TestUnreadableRecordsDoNotStopTheProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	job, _, _ := damagedJob(t, killSeed())
	s, err := store.Open(store.Options{Path: job.Image, Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		for _, b := range append(store.Buckets(), app.Buckets()...) {
			var all []garbage
			err := tx.Scan(b.Name, store.Range{}, func(k, v []byte) (bool, error) {
				all = append(all, garbage{b.Name, k, v})
				return true, nil
			})
			if err != nil || b.Name == "meta" || len(all) == 0 {
				continue
			}
			// The first, the last and one between, each with other nonsense.
			for i, value := range [][]byte{nil, {}, []byte("{"), bytes.Repeat([]byte{0xff}, 40), []byte(`[1,2]`)} {
				g := all[i*(len(all)-1)/4]
				if i == 0 {
					value = g.Value[:len(g.Value)/2]
				}
				job.Garbage = append(job.Garbage, garbage{g.Bucket, g.Key, value})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("FLIPS") == "" { // a quarter of them, of every bucket; make bitflips tries all
		n, quarter := 0, int(killSeed()%4)
		job.Garbage = slices.DeleteFunc(job.Garbage, func(garbage) bool {
			n++
			return n%4 != quarter
		})
	}
	done, said := runChild(t, job, func(r flipResult) {
		if g := job.Garbage[r.N]; r.Wrong {
			t.Errorf("%s key %x = %q: %s: %s", g.Bucket, g.Key, g.Value, r.Outcome, r.Detail)
		}
	})
	if done != len(job.Garbage) {
		t.Errorf("%s key %x = %q ends the process: %s", job.Garbage[done].Bucket, job.Garbage[done].Key, job.Garbage[done].Value, said)
	}
}

// damagedJob returns a job for the file of a program that was killed under load,
// cut off behind its last page, with the offsets of the pages in use.
func damagedJob(t *testing.T, seed uint64) (job flipJob, image []byte, used []int64) {
	t.Helper()
	s := newSiege(t, seed)
	s.begin()
	s.unleash()
	p := s.run()
	s.ready(p)
	s.elapse(p, 2*time.Second)
	p.kill()
	s.cancel()
	s.actors.Wait()
	s.over.Store(true) // each copy of the file ends what waits in it by itself, and differently

	job = flipJob{Image: filepath.Join(t.TempDir(), "image.db"), Folder: t.TempDir(), Died: time.Now(), Sec: s.Sec, Lines: map[string]string{}}
	for _, u := range s.users {
		job.Users = append(job.Users, u.token)
	}
	for _, l := range s.accounts {
		job.Lines[l.name] = l.token
	}
	image, err := os.ReadFile(s.DataFile())
	if err != nil {
		t.Fatal(err)
	}
	image, used = inUse(t, image)
	if err := os.WriteFile(job.Image, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return job, image, used
}

// inUse cuts off what lies behind the last page and returns the offsets of the
// pages that hold records.
func inUse(t *testing.T, image []byte) (whole []byte, used []int64) {
	t.Helper()
	f, err := filepages.Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(os.Getpagesize())
	seen := map[int64]bool{0: true, size: true}
	faults, err := f.Walk(filepages.Visitor{
		Bucket: func(string, uint64) error { return nil },
		Record: func(r filepages.Record) error {
			seen[r.At/size*size] = true
			return nil
		},
	})
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return image[:int64(f.Pages())*size], slices.Sorted(maps.Keys(seen))
}

// runFlips hands the job to children: the one that dies is a finding, and the
// next one goes on behind it.
func runFlips(t *testing.T, job flipJob) {
	t.Helper()
	outcomes := map[string]int{}
	for at := 0; at < len(job.Flips); {
		rest := job
		rest.Flips = job.Flips[at:]
		done, said := runChild(t, rest, func(r flipResult) {
			outcomes[r.Outcome]++
			if r.Wrong {
				t.Errorf("bit %d of byte %d: %s: %s", rest.Flips[r.N]%8, rest.Flips[r.N]/8, r.Outcome, r.Detail)
			}
		})
		at += done
		if at < len(job.Flips) {
			t.Errorf("bit %d of byte %d ends the process: %s", job.Flips[at]%8, job.Flips[at]/8, said)
			outcomes["a raw crash"]++
			at++
		}
		if outcomes["a raw crash"] > 10 {
			t.Fatal("and so on")
		}
	}
	for _, o := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%6d  %s", outcomes[o], o)
	}
}

// flipPatience is the longest time for one flip.
const flipPatience = 3 * time.Minute

// runChild returns how many flips the child got done, and what it said at its
// end.
func runChild(t *testing.T, job flipJob, got func(flipResult)) (done int, said string) {
	t.Helper()
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "job.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asFlipper+"="+path)
	var output capture.Buffer
	cmd.Stderr = &output
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(flipPatience, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var r flipResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		stuck.Reset(flipPatience)
		got(r)
		done = r.N + 1
	}
	stuck.Stop()
	err = cmd.Wait()
	return done, fmt.Sprint(err, ": ", tail(output.String()))
}

// tail returns the part of an output that reports why a process died.
func tail(s string) string {
	const most = 3000
	return s[:min(len(s), most)]
}
