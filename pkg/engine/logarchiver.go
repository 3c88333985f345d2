package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// LogArchiver is what an Engine also is if the log of its databases can be archived, and a backup be brought forward to
// a target by it. Its sessions are LogSources.
type LogArchiver interface {
	// ArchiveRepository is the repository that takes the log, by its name; "" for none. It is pure.
	ArchiveRepository(spec v1alpha1.DatabaseClusterSpec) string
	// ArchiveInterval is how often a file of the log is complete at least, as the database writes times; "" for whenever
	// one is full. What is in none goes with the volumes. It is pure.
	ArchiveInterval(spec v1alpha1.DatabaseClusterSpec) string
	// LogWindow says how far a backup can be brought by the files that an archive has. It is pure.
	LogWindow(backup SnapshotFacts, archive []LogFile) LogWindow
	// SpareLog are the files that no restore of a backup which starts at one of the places reads, to whatever target, now
	// or later. Never among them are those of the newest timeline, what tells where timelines begin, and timelines of
	// which the archive does not tell that. It is pure.
	SpareLog(backups []LogStart, archive []LogFile) []LogFile
	// CheckTarget returns a target as the database writes it. It refuses one that the database can't have, and a place in
	// the log that is outside of the window. Times are for the caller to compare. It is pure.
	CheckTarget(w LogWindow, t v1alpha1.RecoveryTarget) (v1alpha1.RecoveryTarget, error)
	// LogTimeline is the timeline under which an archive has a file of that name. It is pure.
	LogTimeline(name string) string
	// Forward brings what Unpack made of a backup to a target. A target that the log doesn't hold is an error: the data is
	// never that of another place. After an error the directory is worthless.
	Forward(ctx context.Context, directory string, to ForwardTo) error
}

// LogSource is what a Session also is whose members keep files of their log until they are archived.
type LogSource interface {
	// WaitingLog lists the files that members of the present history keep for the archive, oldest first. Where one
	// member can't be asked, the others are, and the error tells of it. Nil means that none could be asked.
	WaitingLog(ctx context.Context) ([]WaitingLog, error)
	// ReadLog reads a file from the first of its members that sends it.
	ReadLog(ctx context.Context, w WaitingLog) (LogFile, []byte, error)
	// ConfirmLog has all its members let a file go: the archive has one of that name whose SHA-256 begins so. A member
	// that has other bytes refuses.
	ConfirmLog(ctx context.Context, w WaitingLog, sum string) error
}

// WaitingLog is a file of the log that members keep, the best source first.
type WaitingLog struct {
	Name    string
	Members []string
	// Primary says that the primary is the first of them: what it has is the history of the cluster.
	Primary bool
}

// LogFile describes a file of the log. Within a timeline one follows another if it starts where that ends.
type LogFile struct {
	Timeline, Name, Start, End string
	// Time is that of the last commit in it; zero if it holds none.
	Time time.Time
}

// LogWindow is what a backup and a log cover.
type LogWindow struct {
	// To is the last moment; zero if there is none. The first is when the backup was complete.
	To time.Time
	// Start and End are places in the log, in the engine's own words: where the backup is complete, and where the log
	// ends.
	// They are "" if no log goes on from the backup.
	Start, End string
	// Timeline is the newest, which a restore follows.
	Timeline string
	// Gap names the first file that is missing although later ones are there; "" if none is.
	Gap string
}

// ForwardTo says how far, and where the log comes from.
type ForwardTo struct {
	// Target is one that CheckTarget returned, with its timeline.
	Target v1alpha1.RecoveryTarget
	// Log lists the files that the archive has.
	Log []LogFile
	// Read returns a file of the log by its name: ErrNoLogFile for one that the archive has not. It is for one caller at a
	// time, fastest if files are read in their order, and what it returns is valid until the next call.
	Read func(ctx context.Context, name string) ([]byte, error)
	// Scratch is an empty directory with a short path.
	Scratch string
	// Programs is where a Converter left those of the data's version; "" if they are in this image.
	Programs string
	// Output gets a line of what was done, for the log of the pod.
	Output io.Writer
}

// ErrNoLogFile: the archive has no file of the log by that name.
var ErrNoLogFile = errors.New("the archived log has no such file")
