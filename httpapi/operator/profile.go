package operator

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"postern/httpapi/rest"
)

// CodeProfiling says that a profile is being made already.
const CodeProfiling = "PROFILE_RUNNING"

// The duration of a processor profile, in seconds.
const (
	ProfileSeconds    = 30 // unless the call says
	MaxProfileSeconds = 120
)

// profileMemory answers with an allocation profile: memory in use as of the last collection, and all
// allocations since the start.
func (a *API) profileMemory(c *rest.Call) error { return a.profileNow(c, "heap") }

// profileGoroutines answers with the stacks of all goroutines.
func (a *API) profileGoroutines(c *rest.Call) error { return a.profileNow(c, "goroutine") }

func (a *API) profileNow(c *rest.Call, name string) error {
	q, err := c.Query([]string{"debug"})
	if err != nil {
		return err
	}
	debug := 0
	switch q.Get("debug") {
	case "1":
		debug = 1
	case "0":
	default:
		if q.Has("debug") {
			return rest.InvalidQuery("debug must be 0 for the pprof format, or 1 for text")
		}
	}
	return a.profile(c, name, func(to *bytes.Buffer) error { return pprof.Lookup(name).WriteTo(to, debug) })
}

// profileProcessor answers with a processor profile of the next seconds. It ends early if the client
// disconnects or the program stops.
func (a *API) profileProcessor(c *rest.Call) error {
	q, err := c.Query([]string{"seconds"})
	if err != nil {
		return err
	}
	seconds := ProfileSeconds
	if q.Has("seconds") {
		if seconds, err = strconv.Atoi(q.Get("seconds")); err != nil || seconds < 1 || seconds > MaxProfileSeconds {
			return rest.InvalidQuery("seconds must be a whole number from 1 to " + strconv.Itoa(MaxProfileSeconds))
		}
	}
	return a.profile(c, "cpu", func(to *bytes.Buffer) error {
		if err := pprof.StartCPUProfile(to); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		enough := time.NewTimer(time.Duration(seconds) * time.Second)
		defer enough.Stop()
		select {
		case <-enough.C:
		case <-c.Stopping():
		case <-c.Request.Context().Done():
			return c.Request.Context().Err()
		}
		return nil
	})
}

// profile answers with the output of write, in the format of pprof. Only one profile is made at a
// time, because each has a cost and the runtime allows one processor profile.
func (a *API) profile(c *rest.Call, name string, write func(*bytes.Buffer) error) error {
	if !a.Profiling.TryLock() {
		return rest.Refuse(http.StatusConflict, CodeProfiling, "another profile is being taken; wait for its end")
	}
	var profile bytes.Buffer
	err := write(&profile)
	a.Profiling.Unlock() // before the answer: who has it may ask for the next one
	if err != nil {
		return err
	}
	h := c.Response.Header()
	h.Set("Content-Type", rest.MediaBytes)
	h.Set("Content-Length", strconv.Itoa(profile.Len()))
	h.Set("Content-Disposition", `attachment; filename="`+name+`.pb.gz"`)
	_, err = c.Response.Write(profile.Bytes())
	return err
}
