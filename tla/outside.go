package tla

// outside says, by specification, which steps change data that it does not speak of: a part of the step, and the reason.
var outside = map[string][][2]string{}
