package postgres

import (
	"fmt"
	"strconv"
	"unicode"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// Bounds of PostgreSQL: the length of the name of a restore point, and the first number of a transaction.
const (
	mostName         = 63
	firstTransaction = 3
)

// CheckTarget implements engine.LogArchiver. Names and transactions are in the log alone, which no catalogue tells.
func (*Engine) CheckTarget(w engine.LogWindow, t v1alpha1.RecoveryTarget) (v1alpha1.RecoveryTarget, error) {
	var err error
	switch {
	case t.LSN != "":
		t.LSN, err = checkLSN(w, t.LSN)
	case t.Name != "":
		err = checkName(t.Name)
	case t.Transaction != "":
		t.Transaction, err = checkTransaction(t.Transaction)
	}
	if err != nil {
		return v1alpha1.RecoveryTarget{}, err
	}
	return t, nil
}

func checkLSN(w engine.LogWindow, text string) (string, error) {
	at, err := basebackup.ParseLSN(text)
	if err != nil {
		return "", &engine.Refusal{Check: "target", Reason: fmt.Sprintf("%q is no place in the log", text),
			Hint: "SELECT pg_current_wal_lsn() tells the present one, such as 0/3000060"}
	}
	text = basebackup.FormatLSN(at)
	start, err := basebackup.ParseLSN(w.Start)
	end, err2 := basebackup.ParseLSN(w.End)
	if err != nil || err2 != nil || at < start || at >= end {
		return "", outside(w, text)
	}
	return text, nil
}

// outside says which places in the log there are.
func outside(w engine.LogWindow, lsn string) error {
	why := fmt.Sprintf("LSN %s is outside of what the backup and the log cover: from %s to before %s on timeline %s", lsn,
		w.Start, w.End, w.Timeline)
	if w.End == "" {
		why = "no log is archived that goes on from the backup"
	}
	if w.Gap != "" {
		why += "; " + w.Gap + " is missing in the archive"
	}
	return &engine.Refusal{Check: "log", Reason: why, Hint: "choose another place, or another backup with --from"}
}

func checkName(name string) error {
	for _, r := range name {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return &engine.Refusal{Check: "target", Reason: fmt.Sprintf("%q is no name of a restore point", name),
				Hint: "write it as it was given to pg_create_restore_point()"}
		}
	}
	if len(name) > mostName {
		return &engine.Refusal{Check: "target",
			Reason: fmt.Sprintf("the name of a restore point has at most %d bytes, and this one has %d", mostName, len(name)),
			Hint:   "write it as it was given to pg_create_restore_point()"}
	}
	return nil
}

// checkTransaction leaves nothing to the server, which takes a word for the number 0.
func checkTransaction(text string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || uint32(n) < firstTransaction { //nolint:gosec // the number of a transaction in the log has 32 bits
		return "", &engine.Refusal{Check: "target", Reason: fmt.Sprintf("%q is no number of a transaction", text),
			Hint: "SELECT pg_current_xact_id() tells that of the present one"}
	}
	return strconv.FormatUint(n, 10), nil
}
