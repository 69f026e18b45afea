// Package s3 tests kept files of messages in a bucket of an S3 server that verifies
// signatures. The server is a program of its own module, in folder server; where it cannot
// be built the tests are skipped and say so.
package s3
