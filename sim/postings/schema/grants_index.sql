-- The commit role: INSERT and SELECT on what is append-only, INSERT and DELETE on the index tables. Upserting the saga record
-- and locking an account head need UPDATE there (docs/postings.md has the measured table).
CREATE ROLE ledger_commit;
GRANT SELECT, INSERT ON postings, transfers, transfer_accounts, events, accounts, books, balance_projection TO ledger_commit;
GRANT SELECT, INSERT, DELETE ON active_postings, reserved_postings TO ledger_commit;
GRANT SELECT, INSERT, UPDATE, DELETE ON sagas, account_head TO ledger_commit;
