// Package ops holds the words that all operations share: State is what was
// observed, a Step is one change, a Plan is the steps to come, an Error says what
// was refused or failed and what to type next. It decides nothing. The packages
// below it do, in one order: health judges, planner decides, executor performs,
// policy says what an operator does, runner drives. None knows an engine, a
// command line or a manager.
package ops
