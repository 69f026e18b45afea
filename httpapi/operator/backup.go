package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"filippo.io/age"

	"postern/backup"
	"postern/httpapi/rest"
	"postern/store"
)

// CodeBackup says that a backup is being made already.
const CodeBackup = "BACKUP_RUNNING"

const mediaTar = "application/x-tar"

// backupRequest selects the contents and the recipients of a backup.
type backupRequest struct {
	WithoutSecrets bool     `json:"withoutSecrets" doc:"Whether to leave out the API key and the token secret." example:"false"`
	Recipients     []string `json:"recipients" doc:"age public keys; any of their private keys can decrypt the backup; empty: it is not encrypted." example:"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"`
}

// makeBackup answers with an archive of the data file and the secrets. A slow client keeps a copy on
// the disk but no lock; a client that stops reading is disconnected.
func (a *API) makeBackup(c *rest.Call) error {
	var in backupRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	recipients, err := backup.Recipients(in.Recipients)
	if err != nil {
		return rest.Refuse(http.StatusUnprocessableEntity, rest.CodeRecipient, "recipients: "+err.Error())
	}
	ctx, cancel := c.UntilStopped()
	defer cancel(nil)
	archive, release, err := a.Backup(ctx, in.WithoutSecrets)
	switch {
	case errors.Is(err, store.ErrSnapshotting):
		return rest.Refuse(http.StatusConflict, CodeBackup, store.ErrSnapshotting.Error())
	case err != nil:
		return err
	}
	err = a.sendBackup(ctx, c, archive, recipients)
	if released := release(); released != nil {
		c.Log().Warn("the copy of the data file of a backup could not be removed; the next start removes it", "error", released)
	}
	return c.CutOff(err, "a backup was cut off")
}

// checkData answers with the faults of the data file.
func (a *API) checkData(c *rest.Call) error {
	if err := c.Decode(&struct{}{}, rest.MaxBody); err != nil {
		return err
	}
	ctx, cancel := c.UntilStopped()
	defer cancel(nil)
	report, err := a.Store.Check(ctx)
	if errors.Is(err, store.ErrSnapshotting) {
		return rest.Refuse(http.StatusConflict, CodeBackup, store.ErrSnapshotting.Error())
	}
	if err != nil {
		return err
	}
	if report.Faults == nil {
		report.Faults = []string{}
	}
	return c.Response.JSON(http.StatusOK, report)
}

// Statistics are the contents of a data file, and the kept files by it.
type Statistics struct {
	store.Inspection

	Kept []KeptFiles `json:"kept"`
}

// KeptFiles are the kept files of messages of one instance.
type KeptFiles struct {
	Instance   string `json:"instance"` // its name; empty if it cannot be read
	InstanceID int64  `json:"instanceId"`
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
}

// showStats answers with the contents of the data file by bucket.
func (a *API) showStats(c *rest.Call) error {
	ctx, cancel := c.UntilStopped()
	defer cancel(nil)
	is := Statistics{Kept: []KeptFiles{}}
	var err error
	is.Inspection, err = a.Store.Inspect(ctx)
	if err == nil && a.KeptFiles != nil {
		is.Kept, err = a.KeptFiles()
	}
	if errors.Is(err, store.ErrSnapshotting) {
		return rest.Refuse(http.StatusConflict, CodeBackup, store.ErrSnapshotting.Error())
	}
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusOK, is)
}

func (a *API) sendBackup(ctx context.Context, c *rest.Call, archive *backup.Archive, recipients []age.Recipient) error {
	h := c.Response.Header()
	kind := mediaTar
	if len(recipients) > 0 {
		kind = rest.MediaBytes
		h.Set("Trailer", backup.DigestTrailer)
	} else {
		h.Set("Content-Length", strconv.FormatInt(archive.Size(), 10))
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="`+backup.Name(time.Now(), "", len(recipients) > 0)+`"`)
	if len(recipients) == 0 {
		return archive.Write(ctx, c.Response)
	}
	sum := sha256.New()
	err := archive.Write(ctx, io.MultiWriter(c.Response, sum), recipients...)
	if err == nil {
		h.Set(backup.DigestTrailer, hex.EncodeToString(sum.Sum(nil)))
	}
	return err
}
