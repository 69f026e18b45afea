package batch

import (
	"github.com/google/uuid"

	"postern/batch/mailing"
	"postern/batch/record"
	"postern/store"
)

// full is a batch as it is in the file.
type full struct {
	id uuid.UUID
	record.Header
	spec    *record.Spec
	message *record.Message
	content *mailing.Content // of message, when it was parsed
}

func load(tx *store.Tx, id uuid.UUID) (*full, error) {
	h, err := record.LoadHeader(tx, id)
	if err != nil {
		return nil, err
	}
	s, err := record.LoadSpec(tx, id)
	if err != nil {
		return nil, err
	}
	m, err := record.LoadMessage(tx, id)
	if err != nil {
		return nil, err
	}
	return &full{id: id, Header: h, spec: s, message: m}, nil
}
