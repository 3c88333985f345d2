package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Entry is one change of the document, as the group's log keeps it.
type Entry interface {
	// Kind names the entry in the log, for ever.
	Kind() string
	// apply changes the document, or returns why it must not.
	apply(d *Document) error
}

// highestLevel is the highest level of entries that this program can apply. An entry kind that is added takes the next
// level, and so does one that is applied in another way. It is proposed only once every member has joined with that
// level.
const highestLevel = 6

// entries returns an empty entry of each kind, with the level that brought it.
func entries() map[Entry]int {
	return map[Entry]int{
		&Found{}: 1, &Joined{}: 1, &GrantInit{}: 1, &RevokeInit{}: 1, &Initialised{}: 1, &Cloned{}: 1,
		&Renew{}: 1, &Seal{}: 1, &Reported{}: 1, &Appoint{}: 1, &PlanSwitchover{}: 1, &Release{}: 1,
		&ChangeSet{}: 1, &SettleSet{}: 1,
		&AddMember{}: 1, &OfferVote{}: 1, &Configured{}: 1, &Leave{}: 1, &RemoveMember{}: 1,
		&Configure{}: 1, &StartHold{}: 1, &EndHold{}: 1, &EndIncarnation{}: 1,
		&EndSource{}: 3, &BeginSource{}: 4, &Copied{}: 5,
		&ReplaceHold{}: 6, &ExpireHold{}: 6,
	}
}

// LevelOf returns the level that brought a kind of entry, or 0 if this program does not know the kind.
func LevelOf(kind string) int {
	for e, level := range entries() {
		if e.Kind() == kind {
			return level
		}
	}
	return 0
}

// ErrUnknownKind says that a newer program wrote an entry. Who meets one must apply nothing after it.
var ErrUnknownKind = errors.New("the entry is of a kind that this version of the agent does not know")

type envelope struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// Encode writes an entry for the group's log.
func Encode(e Entry) []byte {
	data, err := json.Marshal(e)
	if err == nil {
		data, err = json.Marshal(envelope{Kind: e.Kind(), Data: data})
	}
	if err != nil {
		panic(fmt.Sprintf("encode an entry of kind %s: %v", e.Kind(), err)) // entries hold nothing that JSON can't
	}
	return data
}

// Decode reads an entry of the group's log. It returns ErrUnknownKind for a kind that a newer version wrote.
func Decode(raw []byte) (Entry, error) {
	var v envelope
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("read an entry of the group's log: %w", err)
	}
	for e := range entries() {
		if e.Kind() != v.Kind {
			continue
		}
		if err := json.Unmarshal(v.Data, e); err != nil {
			return nil, fmt.Errorf("read an entry of kind %s: %w", v.Kind, err)
		}
		return e, nil
	}
	return nil, fmt.Errorf("read an entry of kind %q: %w", v.Kind, ErrUnknownKind)
}

// refusal says why an entry has no effect.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
