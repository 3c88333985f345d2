package opstest

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Converting is a Stub whose data of 1.1 is converted for 2.0.
type Converting struct{ Stub }

var _ engine.InPlaceConverter = Converting{}

// Converts implements engine.Converter.
func (c Converting) Converts(from, target string) bool {
	return c.Series(from) == "1.1" && c.Series(target) == "2.0"
}

// CheckUpgrade takes members for fit.
func (Converting) CheckUpgrade(engine.View, v1alpha1.DatabaseClusterSpec, string) error { return nil }

// CopyPrograms implements engine.Converter.
func (Converting) CopyPrograms(string, string) error { return nil }

// Convert implements engine.Converter.
func (Converting) Convert(context.Context, string, engine.Conversion) error { return nil }

// ConvertInPlace implements engine.InPlaceConverter.
func (Converting) ConvertInPlace(context.Context, string, string, engine.Conversion) error {
	return nil
}

// RevertInPlace implements engine.InPlaceConverter.
func (Converting) RevertInPlace(string, string) (bool, error) { return true, nil }
