"""The frozen, typed records that stages exchange; nothing here computes, reads files or imports ours."""
