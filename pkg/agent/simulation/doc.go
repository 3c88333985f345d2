// Package simulation runs the protocol of the agents in random worlds and checks what it promises after each event. It
// holds tests only.
package simulation
