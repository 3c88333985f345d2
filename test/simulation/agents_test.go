package simulation

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/simulation/replicated"
)

// agentWorlds are simulated by a plain go test, agentPairs are compared.
const (
	agentWorlds = 250
	agentPairs  = 10
)

// TestAgents plays worlds of a primary with replicas until one breaks a promise.
func TestAgents(t *testing.T) { simulate(t, replicated.New(), agentWorlds) }

// TestAgentsSameSteps: as TestSameSteps.
func TestAgentsSameSteps(t *testing.T) { sameSteps(t, replicated.New(), comparisons(agentPairs)) }

// TestAgentsSameEnd: as TestSameEnd.
func TestAgentsSameEnd(t *testing.T) { sameEnd(t, replicated.New(), comparisons(agentPairs)) }
