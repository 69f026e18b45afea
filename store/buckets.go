package store

import (
	"slices"

	"postern/store/schema"
)

// Buckets returns the buckets that the store itself owns.
func Buckets() []schema.Bucket {
	return []schema.Bucket{schema.Meta, schema.Damaged}
}

// withOwn returns the schema of the declared buckets and of the store's own.
func withOwn(declared []schema.Bucket) (schema.Schema, error) {
	return schema.New(slices.Concat(Buckets(), declared))
}
