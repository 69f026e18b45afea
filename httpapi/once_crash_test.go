package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch"
	"postern/batch/record"
	"postern/event"
	"postern/httpapi/batches"
	"postern/httpapi/idempotency"
	"postern/httpapi/rest"
	"postern/store"
)

// The buckets of keys, as package idempotency draws them.
const (
	bucketKeys  = "idempotency_key"
	bucketTimes = "idempotency_time"
)

// keptRecord is the record of a key as stored.
type keptRecord struct {
	Route     string `json:"route"`
	Digest    []byte `json:"digest"`
	RequestID string `json:"requestId"`
	Status    int    `json:"status"`

	body []byte
}

// record returns the only record in the file.
func (r *rig) record() (rec keptRecord) {
	r.t.Helper()
	err := r.store.View(func(tx *store.Tx) error {
		return tx.Scan(bucketKeys, store.Range{}, func(_, v []byte) (bool, error) {
			head, body, _ := bytes.Cut(v, []byte("\n"))
			rec.body = body
			return false, json.Unmarshal(head, &rec)
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

func TestKeyIsInFlightBeforeTheMessageLeaves(t *testing.T) {
	r, token, left := sender(t)
	var inFlight keptRecord
	r.line.onSend = func(context.Context) error {
		left.Add(1)
		inFlight = r.record()
		return nil
	}
	r.keyed(token, "k", sendPath, hello)
	if inFlight.Route != "POST /instance/{i}/send/text" || len(inFlight.Digest) != 32 || inFlight.RequestID == "" || inFlight.Status != 0 {
		t.Errorf("%+v", inFlight)
	}
}

// restarted returns another interface on the same file, as the next process has it.
func (r *rig) restarted() *api {
	a := r.api
	next := newAPI(r.config)
	next.Server = rest.Bare(a.Config)
	for _, row := range next.routes() {
		if row.Auth != rest.Handshake {
			next.Router.Add(row.Method, row.Path, next.Handler(row))
		}
	}
	return next
}

func TestInFlightKeyOfEndedProcessIs408(t *testing.T) {
	r, token, left := sender(t)
	var answers []answer
	r.line.onSend = func(context.Context) error {
		if left.Add(1) > 1 {
			return nil
		}
		next := r.restarted() // as if this process ended here
		for range 2 {
			answers = append(answers, read(t, do(next, keyedRequest(context.Background(), token, "k", sendPath, hello))))
		}
		answers = append(answers, read(t, do(next, keyedRequest(context.Background(), token, "k", sendPath, hello+" "))))
		return nil
	}
	req := keyedRequest(t.Context(), token, "k", sendPath, hello)
	req.Header.Set("x-request-id", "the-first")
	do(r.h, req)
	for _, got := range answers[:2] {
		if got.status != 408 || got.code() != event.SendResultUnknown || !got.replayed || got.body != answers[0].body {
			t.Error(got)
		}
	}
	var b rest.ErrorBody
	if err := json.Unmarshal([]byte(answers[0].body), &b); err != nil || b.RequestID != "the-first" || b.Error != "request-timeout" || len(b.Messages) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if answers[2].code() != "IDEMPOTENCY_KEY_REUSED" {
		t.Error(answers[2])
	}
	if left.Load() != 1 {
		t.Errorf("sent %d times", left.Load())
	}
}

func TestPanicMidSendIs500WithUnknownOutcome(t *testing.T) {
	r, token, left := sender(t)
	r.line.onSend = func(context.Context) error {
		left.Add(1)
		panic("boom")
	}
	if got := r.keyed(token, "k", sendPath, hello); got.status != 500 || got.replayed {
		t.Fatal(got)
	}
	for range 2 {
		if got := r.keyed(token, "k", sendPath, hello); got.status != 408 || got.code() != event.SendResultUnknown || !got.replayed {
			t.Error(got)
		}
	}
	if left.Load() != 1 {
		t.Errorf("sent %d times", left.Load())
	}
}

func TestInternalFaultMidSendLeavesTheOutcomeUnknown(t *testing.T) {
	r, token, left := sender(t)
	r.line.onSend = func(context.Context) error {
		left.Add(1)
		return errors.New("an unmapped error")
	}
	if got := r.keyed(token, "k", sendPath, hello); got.status != 500 {
		t.Fatal(got)
	}
	if got := r.keyed(token, "k", sendPath, hello); got.code() != event.SendResultUnknown || left.Load() != 1 {
		t.Errorf("sent %d times: %v", left.Load(), got)
	}
}

func TestAPanicBeforeTheSendFreesTheKey(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	times := 0
	row := rest.Route{Method: "POST", Path: "/instance/{i}/panics", Auth: rest.InstanceBearer, Right: rest.Never, Once: true, Handle: func(c *rest.Call) error {
		if err := c.NoBody(); err != nil {
			return err
		}
		if times++; times == 1 {
			panic("boom")
		}
		return c.Response.JSON(http.StatusOK, struct{}{})
	}}
	a := r.api.Server
	a.Router.Add(row.Method, row.Path, a.Handler(row))
	if got := r.keyed(token, "k", "/instance/a/panics", ""); got.status != 500 {
		t.Fatal(got)
	}
	if got := r.keyed(token, "k", "/instance/a/panics", ""); got.status != 200 || got.replayed {
		t.Error(got)
	}
}

func TestClientLeavingMidSendCanRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, token, left := sender(t)
		ctx, leave := context.WithCancel(t.Context())
		r.line.onSend = func(send context.Context) error {
			left.Add(1)
			leave()
			synctest.Wait() // for whatever follows from that
			return send.Err()
		}
		do(r.h, keyedRequest(ctx, token, "k", sendPath, hello))
		if got := r.keyed(token, "k", sendPath, hello); got.status != 200 || !got.replayed || left.Load() != 1 {
			t.Errorf("sent %d times: %v", left.Load(), got)
		}
	})
}

// TestClientLeavingMidSendHasTheMessageStored: a message that WhatsApp accepted is stored and reported, whether or
// not the client is still connected.
func TestClientLeavingMidSendHasTheMessageStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, token, left := sender(t)
		ctx, leave := context.WithCancel(t.Context())
		r.line.onSend = func(send context.Context) error {
			left.Add(1)
			leave()
			synctest.Wait() // for whatever follows from that
			return send.Err()
		}
		req := keyedRequest(ctx, token, "", sendPath, hello)
		req.Header.Del("Idempotency-Key")
		if got := read(t, do(r.h, req)); got.status != 200 || left.Load() != 1 {
			t.Errorf("sent %d times: %v", left.Load(), got)
		}
		if got := read(t, r.as(token, "POST", "/instance/a/db/messages", "{}")); strings.Count(got.body, `"keyFromMe":true`) != 1 {
			t.Errorf("stored: %s", got)
		}
	})
}

func TestClientLeavingBeforeTheSendFreesTheKey(t *testing.T) {
	r, token, left := sender(t)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	do(r.h, keyedRequest(ctx, token, "k", sendPath, hello))
	if left.Load() != 0 || r.count(bucketKeys) != 0 {
		t.Errorf("sent %d times, %d records", left.Load(), r.count(bucketKeys))
	}
	if got := r.keyed(token, "k", sendPath, hello); got.status != 200 || got.replayed {
		t.Error(got)
	}
}

// TestClientsLeavingStopsWaitingWork covers the work before a send: its delay, the fetch of a file.
func TestClientsLeavingStopsWaitingWork(t *testing.T) {
	r := newRig(t)
	request, leave := context.WithCancelCause(t.Context())
	c := &rest.Call{Request: httptest.NewRequestWithContext(request, "POST", "/", strings.NewReader(""))}
	c.Once = idempotency.New(r.store).Request([]byte("id"), "POST /", "")
	if err := c.Claim([32]byte{}); err != nil {
		t.Fatal(err)
	}
	ctx, done := c.SendContext()
	defer done()
	gone := errors.New("gone")
	leave(gone)
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, gone) {
		t.Error(err)
	}
	if err := c.Begin(); !errors.Is(err, gone) || r.count(bucketKeys) != 0 {
		t.Errorf("begun for a client that has left: %v", err)
	}
}

func TestUnstoredSendIsAnsweredNevertheless(t *testing.T) {
	r, token, left := sender(t)
	r.line.onSend = func(context.Context) error {
		left.Add(1)
		return r.store.Close()
	}
	if got := r.keyed(token, "k", sendPath, hello); got.status != 406 || left.Load() != 1 {
		t.Error(got)
	}
}

// TestABatchAndItsAnswerAreOneCommit counts the commits, and reads the file inside the commit that makes the batch visible.
func TestABatchAndItsAnswerAreOneCommit(t *testing.T) {
	var commits int
	r := newRigWith(t, store.Options{NoSync: true, MinFree: 1, OnCommit: func(int, time.Duration) { commits++ }})
	r.instance("a")
	before := commits
	first := r.keyed(r.token, "k", "/message/batches", batchBody("", ""))
	if first.status != 201 || commits != before+1 {
		t.Errorf("%d commits: %v", commits-before, first)
	}
	if rec := r.record(); rec.Status != 201 || string(rec.body) != first.body {
		t.Errorf("%+v", rec)
	}
}

func TestUnfinishedCreationLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	lost := errors.New("the process ends here")
	a := r.api.Server
	row := rest.Route{Method: "POST", Path: "/lost", Auth: rest.UserBearer, Right: rest.Never, Once: true, Handle: func(c *rest.Call) error {
		var in batches.BatchRequest
		if err := c.Decode(&in, rest.MaxBody); err != nil {
			return err
		}
		create := batch.CreateRequest{
			Name: in.Name, Instances: []record.InstanceRef{{ID: 1, Name: "a"}}, List: &in.Recipients,
			Message: event.BatchMessage{Type: "text", Payload: []byte(`{"text":"hi"}`)},
		}
		keep := rest.KeepInCommit[batch.View](c, http.StatusCreated)
		create.InCommit = func(tx *store.Tx, v batch.View) error { return errors.Join(keep(tx, v), lost) }
		_, err := r.engine.Create(c.Request.Context(), c.User, create)
		return err
	}}
	a.Router.Add(row.Method, row.Path, a.Handler(row))
	if got := r.keyed(r.token, "k", "/lost", batchBody("", "")); got.status != 500 {
		t.Fatal(got)
	}
	if r.count(bucketKeys) != 0 {
		t.Error("the answer of a batch that does not exist is kept")
	}
	r.wantBatches(0)
	if got := r.keyed(r.token, "k", "/message/batches", batchBody("", "")); got.status != 201 || got.replayed {
		t.Error(got)
	}
	r.wantBatches(1)
}

func TestAFullDiskStillGivesKnownAnswers(t *testing.T) {
	r := newRigOnDisk(t, math.MaxUint64)
	r.h = r.api // the kept answer is none of the route's
	body := batchBody("", "")
	digest := sha256.Sum256([]byte(body))
	known := idempotency.Answer{Status: 201, ContentType: rest.ContentTypeJSON, Body: []byte(`{"line":"feeds\n are kept"}` + "\n\n")}
	key := idempotency.New(r.store).Request(idempotency.OfUser(r.user, "k"), "POST /message/batches", "")
	if _, err := key.Claim(digest); err != nil {
		t.Fatal(err)
	}
	if err := key.Settle(idempotency.Ending{Success: true, Kept: true, Answer: known}); err != nil {
		t.Fatal(err)
	}
	if got := r.keyed(r.token, "k", "/message/batches", body); got.status != 201 || !got.replayed || got.body != string(known.Body) {
		t.Error(got)
	}
	if got := r.keyed(r.token, "k2", "/message/batches", body); got.code() != "DISK_FULL" {
		t.Error(got)
	}
}

// TestMessageAndAnswerAreOneCommit: a send with a key makes one commit more than one without, for the record in flight.
func TestMessageAndAnswerAreOneCommit(t *testing.T) {
	var commits int
	r := newRigWith(t, store.Options{NoSync: true, MinFree: 1, OnCommit: func(int, time.Duration) { commits++ }})
	r.line.paired.Store(true)
	r.line.online.Store(true)
	token := r.instance("a")
	before := commits
	r.as(token, "POST", sendPath, hello)
	without := commits - before
	first := r.keyed(token, "k", sendPath, hello)
	if with := commits - before - without; without != 1 || with != 2 {
		t.Errorf("%d commits without a key and %d with", without, with)
	}
	if rec := r.record(); rec.Status != 200 || string(rec.body) != first.body {
		t.Errorf("%+v", rec)
	}
}
