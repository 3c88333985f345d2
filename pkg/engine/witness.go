package engine

import "context"

// WitnessRegistrar is what a Session also is if its engine asks for witnesses.
type WitnessRegistrar interface {
	// RegisterWitness is Register for a member that votes and holds no data. The
	// database says of its entry that it is a Witness from the start.
	RegisterWitness(ctx context.Context, member string) error
}

// Data returns the roster's whole members that hold data: those that a person counts.
func (v View) Data() []Registered { return ofKind(v.Joined(), false) }

// Witnesses returns the roster's whole members that hold none.
func (v View) Witnesses() []Registered { return ofKind(v.Joined(), true) }

func ofKind(all []Registered, witness bool) []Registered {
	var out []Registered
	for _, r := range all {
		if r.Witness == witness {
			out = append(out, r)
		}
	}
	return out
}
