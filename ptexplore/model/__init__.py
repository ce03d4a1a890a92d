"""The frozen, typed records that stages exchange. Nothing here reads files, or imports from other rooms."""
