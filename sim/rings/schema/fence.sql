-- After the flip the columns are a fence: an old rotator's advance is rejected. Only a change of the pair is: updates of
-- other columns, and of the same values, pass.
CREATE FUNCTION reject_compat_ring_cursor_update_after_flip() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.current_slot IS DISTINCT FROM OLD.current_slot OR NEW.generation IS DISTINCT FROM OLD.generation)
       AND EXISTS (SELECT 1 FROM ring_cursor_authority a WHERE a.singleton AND a.authority = 'ledger') THEN
        RAISE EXCEPTION 'ring cursor columns are fenced: the ledger is authoritative' USING ERRCODE = '55000';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER reject_compat_cursor BEFORE UPDATE OF current_slot, generation ON queue_ring_state
    FOR EACH ROW EXECUTE FUNCTION reject_compat_ring_cursor_update_after_flip();
CREATE TRIGGER reject_compat_cursor BEFORE UPDATE OF current_slot, generation ON lease_ring_state
    FOR EACH ROW EXECUTE FUNCTION reject_compat_ring_cursor_update_after_flip();
CREATE TRIGGER reject_compat_cursor BEFORE UPDATE OF current_slot, generation ON claim_ring_state
    FOR EACH ROW EXECUTE FUNCTION reject_compat_ring_cursor_update_after_flip();
