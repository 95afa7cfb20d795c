/* Reads an LMDB environment and does not end: a forgotten read, or many.

     held_reader FOLDER COUNT

   Opens it read-only, begins COUNT reads (as many as there are places at most), prints how many,
   and waits for the end of its standard input. It writes nothing but its places in the table of
   readers. */

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  MDB_env* env = NULL;
  int code = mdb_env_create(&env);
  if (code == 0)
    code = mdb_env_open(env, argv[1], MDB_RDONLY | MDB_NOTLS, 0);
  if (code != 0) {
    fprintf(stderr, "held_reader: %s: %s\n", argv[1], mdb_strerror(code));
    return 1;
  }
  long wanted = strtol(argv[2], NULL, 10), held = 0;
  for (MDB_txn* txn = NULL; held < wanted && mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0;
       ++held)
    ;
  printf("%ld\n", held);
  fflush(stdout);
  while (getchar() != EOF)
    ;
  return 0;
}
