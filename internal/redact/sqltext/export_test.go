package sqltext

// Functions are those with secret arguments, for the tests.
var Functions = functions
