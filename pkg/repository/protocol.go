package repository

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// What Remote and the server in package helper say to each other, as JSON:
//
//	GET    /healthz                                200 once the server serves
//	POST   /probe                                  -> ProbeReply
//	GET    /v1/backups?cluster=name                -> Listing
//	GET    /v1/backups/{id}                        -> Manifest
//	DELETE /v1/backups/{id}
//	POST   /v1/backups/{id}/verified               Verification ->
//	POST   /v1/backups/{id}/proofs                 Proof ->
//	POST   /v1/backups/{id}/present
//	GET    /v1/backups/{id}/data                   -> bytes, manifest in HeaderManifest
//	GET    /v1/backups/{id}/check                  -> lines of CheckReply
//	POST   /v1/backups/{id}/uploads                UploadRequest -> UploadReply
//	PUT    /v1/backups/{id}/uploads/{upload}       bytes ->
//	POST   /v1/backups/{id}/uploads/{upload}/commit  Manifest -> Manifest
//	DELETE /v1/backups/{id}/uploads/{upload}
//
// Errors are a wire.Fault with a code of Faults.
const (
	// PathBackups is the root of all backups.
	PathBackups = "/v1/backups"
	// PathHealth answers once the server serves; PathProbe writes and removes an empty file.
	PathHealth = "/healthz"
	PathProbe  = "/probe"
	// HeaderManifest carries the manifest, as base64 of JSON, in front of the data.
	HeaderManifest = "Dbop-Manifest"
)

// ErrRequest: the server could not make sense of a request; the two sides may
// be of different versions.
var ErrRequest = errors.New("malformed request")

// UploadRequest begins an upload, as Repository.Writer does.
type UploadRequest struct {
	Operation string `json:"operation"`
}

// UploadReply names the upload. A second begin of the same operation ends it.
type UploadReply struct {
	Upload string `json:"upload"`
}

// Listing is the answer of Repository.List, broken manifests included.
type Listing struct {
	Manifests []Manifest    `json:"manifests"`
	Broken    []BrokenReply `json:"broken,omitempty"`
}

// BrokenReply is a backup whose manifest can't be read.
type BrokenReply struct {
	ID    string     `json:"id"`
	Fault wire.Fault `json:"fault"`
}

// ProbeReply says how many bytes are free, -1 where the system can't say.
type ProbeReply struct {
	Free int64 `json:"free"`
}

// Faults are the errors that keep their type across the wire.
func Faults() wire.Table {
	return wire.Table{
		{Code: "no-space", Status: http.StatusInsufficientStorage, Err: ErrNoSpace},
		{Code: "needed", Status: http.StatusConflict, Err: ErrNeeded},
		{Code: "busy", Status: http.StatusLocked, Err: ErrBusy},
		{Code: "exists", Status: http.StatusConflict, Err: ErrExists},
		{Code: "not-found", Status: http.StatusNotFound, Err: ErrNotFound},
		{Code: "newer-format", Status: http.StatusUnprocessableEntity, Err: ErrFormat},
		{Code: "not-snapshot", Status: http.StatusUnprocessableEntity, Err: engine.ErrNotSnapshot},
		{Code: "damaged", Status: http.StatusUnprocessableEntity, Err: ErrDamaged},
		{Code: "bad-identifier", Status: http.StatusBadRequest, Err: ErrID},
		{Code: "bad-request", Status: http.StatusBadRequest, Err: ErrRequest},
		{Code: "finished", Status: http.StatusGone, Err: ErrFinished},
		{Code: "canceled", Status: http.StatusServiceUnavailable, Err: context.Canceled},
	}
}

func backupPath(id string, more ...string) string {
	var path strings.Builder
	path.WriteString(PathBackups + "/" + url.PathEscape(id))
	for _, m := range more {
		path.WriteString("/" + url.PathEscape(m))
	}
	return path.String()
}
