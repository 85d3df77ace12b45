/* Feeds documents to the client's check of replies, `is_decision`. Input: u8 status, u32 length (big-endian) and the
 * document, again and again. Output: `1` for each that may be passed on, else `0`. Each document is copied to memory of
 * exactly its size, so that the sanitizers see a read past its end. */
#define VERDIKT_HOOK_PARTS
#include "verdikt-hook.c"

#include <stdio.h>

int main(void) {
    char prefix[5];
    while (fread(prefix, 1, sizeof prefix, stdin) == sizeof prefix) {
        size_t length = decode_u32(prefix + 1);
        char *document = malloc(length > 0 ? length : 1);
        if (document == NULL || fread(document, 1, length, stdin) != length) return 1;
        putchar(is_decision(prefix[0], document, length, 1) ? '1' : '0');
        free(document);
    }
    return 0;
}
