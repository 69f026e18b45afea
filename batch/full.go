package batch

import (
	"github.com/google/uuid"

	"postern/store"
)

// full is a batch as it is in the file.
type full struct {
	id uuid.UUID
	header
	spec    *spec
	message *messageRecord
	content *content // of message, when it was parsed
}

func load(tx *store.Tx, id uuid.UUID) (*full, error) {
	h, err := loadHeader(tx, id)
	if err != nil {
		return nil, err
	}
	s, err := loadSpec(tx, id)
	if err != nil {
		return nil, err
	}
	m, err := loadMessage(tx, id)
	if err != nil {
		return nil, err
	}
	return &full{id: id, header: h, spec: s, message: m}, nil
}
