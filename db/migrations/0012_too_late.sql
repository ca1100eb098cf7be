-- Fails the statement that calls it: what it has written so far came too late, and is undone (db/admission/accepts.ts).
CREATE OR REPLACE FUNCTION "too_late"() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The send came too late to be recorded' USING ERRCODE = 'LATE0';
END $$;
