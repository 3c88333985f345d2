// Package planner decides what comes next. Decide is a pure function of a State:
// one step, one wait with its reason, a refusal with its remedy, or done. Predict
// says what a step leads to, and a plan is Decide carried forward over Predict.
package planner
