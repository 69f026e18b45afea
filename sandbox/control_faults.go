package sandbox

import (
	"net/http"
	"time"

	"postern/sandbox/network"
)

// Limits of a request.
const (
	maxAckDelay  = 3_600_000 // milliseconds
	maxErrorCode = 999
	maxDropAfter = 1_000_000
	maxStatus    = 599
)

// faultFields are Faults in the body of the control route.
type faultFields struct {
	AckDelayMs     int  `json:"ackDelayMs"`
	SendError      int  `json:"sendError"`
	DropAfter      int  `json:"dropAfter"`
	SwallowPings   bool `json:"swallowPings"`
	LosePairingEnd bool `json:"losePairingEnd"`
	StateError     int  `json:"stateError"`
	MediaError     int  `json:"mediaError"`

	WithholdReceipts bool `json:"withholdReceipts"`
}

func (f *faultFields) check() error {
	switch {
	case f.AckDelayMs < 0 || f.AckDelayMs > maxAckDelay:
		return invalidField("ackDelayMs", "is not from 0 to 3600000")
	case f.SendError < 0 || f.SendError > maxErrorCode:
		return invalidField("sendError", "is not from 0 to 999")
	case f.DropAfter < 0 || f.DropAfter > maxDropAfter:
		return invalidField("dropAfter", "is not from 0 to 1000000")
	case f.StateError < 0 || f.StateError > maxErrorCode:
		return invalidField("stateError", "is not from 0 to 999")
	case f.MediaError != 0 && (f.MediaError < http.StatusBadRequest || f.MediaError > maxStatus):
		return invalidField("mediaError", "is not 0 or a status from 400 to 599")
	default:
		return nil
	}
}

func (f *faultFields) faults() network.Faults {
	return network.Faults{
		AckDelay: time.Duration(f.AckDelayMs) * time.Millisecond, SendError: f.SendError, DropAfter: f.DropAfter,
		SwallowPings: f.SwallowPings, LosePairingEnd: f.LosePairingEnd, StateError: f.StateError, MediaError: f.MediaError,
		WithholdReceipts: f.WithholdReceipts,
	}
}

func (c *control) changeFaults(r *http.Request) (int, any, error) {
	var body faultFields
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if err := body.check(); err != nil {
		return 0, nil, err
	}
	if body == (faultFields{}) {
		c.net.Heal()
	} else {
		c.net.SetFaults(body.faults())
	}
	return http.StatusOK, body, nil
}
