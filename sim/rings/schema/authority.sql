-- Which representation of the cursors counts, for all three rings.
CREATE TABLE ring_cursor_authority (
    singleton  boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    authority  text    NOT NULL CHECK (authority IN ('columns', 'ledger')),
    flipped_at timestamptz
);

