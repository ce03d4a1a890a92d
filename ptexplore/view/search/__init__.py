"""What find, refs and show found."""
