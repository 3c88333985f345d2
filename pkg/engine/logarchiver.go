package engine

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// LogArchiver is what an Engine also is if the log of its databases can be archived, and a backup be brought forward to
// a moment by it. Its sessions are LogSources.
type LogArchiver interface {
	// ArchiveRepository is the repository that takes the log, by its name; "" for none. It is pure.
	ArchiveRepository(spec v1alpha1.DatabaseClusterSpec) string
	// LogWindow says to which moments a backup can be brought by the files that an archive has. It is pure.
	LogWindow(backup SnapshotFacts, archive []LogFile) LogWindow
	// LogTimeline is the timeline under which an archive has a file of that name. It is pure.
	LogTimeline(name string) string
	// Forward brings what Unpack made of a backup to a later moment. After an error the directory is worthless.
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
	// Timeline is the newest, which a restore follows.
	Timeline string
	// Gap names the first file that is missing although later ones are there; "" if none is.
	Gap string
}

// ForwardTo says to which moment, and where the log comes from.
type ForwardTo struct {
	// Time is the moment: what was committed later is not in the data. Zero takes all of the log. Timeline is that of
	// LogWindow.
	Time     time.Time
	Timeline string
	// Log lists the files that the archive has.
	Log []LogFile
	// Command gets a file of the log: LogNameToken in it is the name, LogPathToken where it goes. It exits with
	// LogFileMissing for a file that the archive has not, and with another code where the archive can't be asked.
	Command []string
	// Scratch is an empty directory with a short path.
	Scratch string
	// Programs is where a Converter left those of the data's version; "" if they are in this image.
	Programs string
}

// LatestMoment takes all of the log, in the place of a moment.
const LatestMoment = "latest"

// Placeholders of a file of the log in ForwardTo.Command, and the code with which that says that there is none.
const (
	LogNameToken   = "{name}"
	LogPathToken   = "{path}"
	LogFileMissing = 6
)
