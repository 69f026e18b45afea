// Package ref resolves references in the bodies of requests: to stored messages, by
// either of their ids, and to files, which are uploaded earlier, fetched or part of
// the body.
package ref
