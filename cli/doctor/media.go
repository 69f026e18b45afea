package doctor

import (
	"context"
	"errors"
	"time"

	"postern/app"
	"postern/media/kept"
	"postern/media/kept/s3"
	"postern/store"
)

// s3ClockOff is the difference of the two clocks from which on an S3 server may soon refuse
// requests: it accepts 15 minutes.
const s3ClockOff = time.Minute

// mediaStore reads from the bucket of kept files as the program does, and writes nothing.
func (r *examination) mediaStore(ctx context.Context) []Finding {
	const check = "media store"
	if r.Config.Media.Store.Kind != "s3" {
		return nil
	}
	bucket, err := app.MediaBucket(r.Config)
	if err != nil {
		return one(check, Fault, "correct it", "%v", err)
	}
	id := ""
	if !r.running && !r.none {
		id, _ = store.FileID(r.Config.Store.Path) // an error is reported by the check of the data file
	}
	ctx, cancel := limited(ctx)
	defer cancel()
	err = kept.CheckBucket(ctx, bucket, id)
	off, known := bucket.ClockOff()
	switch {
	case errors.Is(err, s3.ErrFailed):
		return one(check, Fault, "start the server, or correct media.store.s3.endpoint; files of messages wait meanwhile", "%s: %v", bucket, err)
	case err != nil:
		return one(check, Fault, "files of messages wait until then", "%s: %v", bucket, err)
	case known && off.Abs() >= s3ClockOff:
		return one(check, Warning, "synchronise both clocks by NTP (timedatectl); S3 refuses requests from 15 minutes on", "%s: this machine's clock and that of the server are %v apart", bucket, off.Abs())
	}
	return one(check, OK, "", "%s can be read", bucket)
}
