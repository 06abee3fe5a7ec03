"""What the suite is measured against: other programs, plain torch, and floors."""
