// Package s3 stores objects in one bucket of an S3 server, under one prefix.
//
// An object is written by one PUT with its length and its SHA-256, which the server
// verifies: it stores the whole object or none. Nothing is retried here, and no object is
// made public.
//
// Errors name a setting of media.store.s3 where an operator has to change one, and never
// hold a key. They wrap [ErrRefused] if the server refused the request, else [ErrFailed].
package s3
