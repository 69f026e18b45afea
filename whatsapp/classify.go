package whatsapp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/socket"

	"postern/event"
	"postern/internal/netfault"
)

// classify wraps the error of a SendMessage in the sentinel of package event that says
// whether the recipient may get the message.
//
// SendMessage has three stages. The timings that it returns with an error show the last
// stage reached:
//
//  1. Preparation: the recipient's LID, devices and keys, encryption, the retry buffer.
//     Send is zero. Nothing of the message was written.
//  2. Writing the frame and waiting for the acknowledgement. Send is set when the write
//     ended, successfully or not. A missing or closed socket and a frame that is too large
//     are detected before the first byte; any other error, a timeout or an ended context
//     may come after it.
//  3. Answered. Resp is set. Either WhatsApp rejects the message with a code, and did not
//     deliver it; or the connection was lost. The library may then write the frame once
//     more, so that even "not connected" says nothing about the first write.
func classify(resp whatsmeow.SendResponse, err error) error {
	t, err := resp.DebugTimings, netfault.Plain(err)
	switch {
	case err == nil, errors.Is(err, event.ErrBusy), errors.Is(err, event.ErrNotNow):
		return err
	case errors.Is(err, whatsmeow.ErrServerReturnedError):
		return refusal(err)
	case t.Send == 0 && lostConnection(err):
		return fmt.Errorf("%w: %w", event.ErrNotConnected, err)
	case t.Send == 0:
		return fmt.Errorf("%w: %w", event.ErrSendRefused, err)
	case t.Resp == 0 && noSocket(err):
		return fmt.Errorf("%w: %w", event.ErrNotConnected, err)
	case t.Resp == 0 && errors.Is(err, socket.ErrFrameTooLarge):
		return fmt.Errorf("%w: %w", event.ErrSendRefused, err)
	}
	return fmt.Errorf("%w: %w", event.ErrOutcomeUnknown, err)
}

// refusal translates the code with which WhatsApp rejected a message.
func refusal(err error) error {
	_, number, _ := strings.Cut(err.Error(), whatsmeow.ErrServerReturnedError.Error()+" ")
	code, _ := strconv.Atoi(number)
	if code == event.ReachoutTimelockCode {
		return event.ErrTimelocked
	}
	return &event.RefusedError{Code: code, Cause: err}
}

func noSocket(err error) bool {
	return errors.Is(err, whatsmeow.ErrNotConnected) || errors.Is(err, socket.ErrSocketClosed)
}

// lostConnection reports whether a request other than the message itself failed because
// of the connection.
func lostConnection(err error) bool {
	var lost *whatsmeow.DisconnectedError
	return noSocket(err) || errors.As(err, &lost) || noWay(err) ||
		errors.Is(err, whatsmeow.ErrNotLoggedIn) || errors.Is(err, whatsmeow.ErrIQTimedOut)
}
