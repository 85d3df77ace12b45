"""One program per SDK: it runs in the SDK's environment, and plays scenarios that the test process sends."""
